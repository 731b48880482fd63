import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { bringUpDemonstration } from '@agent-service/local/demonstration/database';
import { repositoryRoot } from '@agent-service/local/host/environment';
import { freePort } from '@agent-service/local/host/ports';
import { seed } from '@agent-service/local/seed';
import { readCredentials } from '@agent-service/local/system/secrets';
import { type Receiver, receiver, type SystemAccess, sharedSystem, testFolder, testSystem, until } from '@agent-service/testkit';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';

const limitMs = 180_000;
/** The long form also runs what needs Python, Go, a certificate or an installation. */
const describeLong = process.env['EXAMPLES'] === 'long' ? describe : describe.skip;
const question = 'How many orders do we have?';

let system: SystemAccess & { leave(): void };
let settings: Record<string, string>;
let agentId: string;

beforeAll(async () => {
  system = await sharedSystem();
  const dataDir = await testFolder();
  await bringUpDemonstration({ adminUrl: system.endpoints['postgres'] ?? '', readerPassword: system.demonstrationPassword });
  // An organization of this file's own.
  await seed({ ...system, dataDir });
  const key = readCredentials(join(dataDir, 'credentials.json'))?.api_keys.live ?? '';
  const agent = { name: 'Orders', system_prompt: 'Answer.', data_scope: { tables: ['orders'] } };
  agentId = String((await call(key, 'POST', '/v1/agents', agent))['id']);
  await call(key, 'PATCH', `/v1/agents/${agentId}`, { status: 'active' });
  settings = { AGENT_SERVICE_URL: system.url, AGENT_SERVICE_KEY: key, AGENT_ID: agentId };
}, limitMs);
afterAll(() => system?.leave());

const children = new Set<ChildProcess>();
afterEach(async () => {
  for (const child of children) {
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) continue;
    // With its own children: `go run` leaves the program that it has started.
    process.kill(-child.pid);
    await once(child, 'exit');
  }
  children.clear();
});

async function call(key: string, method: string, path: string, body?: object, url = system.url): Promise<Record<string, unknown>> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const response = await fetch(url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text}`);
  return (JSON.parse(text) as { data: Record<string, unknown> }).data;
}

interface Program {
  readonly child: ChildProcess;
  /** The printed text. */
  output(): string;
}

function run(command: string, args: readonly string[], env: Record<string, string>, cwd = repositoryRoot): Program {
  const child = spawn(command, args, { cwd, env: { ...process.env, ...env }, stdio: ['pipe', 'pipe', 'pipe'], detached: true });
  children.add(child);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk: Buffer) => (output += chunk.toString()));
  return { child, output: () => output };
}

const example = (...names: string[]) => join(repositoryRoot, 'examples', ...names);
const runExample = (file: string, args: readonly string[] = [], env: Record<string, string> = {}) =>
  run(process.execPath, [example(file), ...args], { ...settings, ...env });
const printed = (program: Program, text: string) =>
  until(`it prints ${text}, and printed ${program.output()}`, async () => program.output().includes(text));

async function ended({ child, output }: Program): Promise<string> {
  expect([await codeOf(child), output()]).toEqual([0, expect.any(String)]);
  return output();
}

const codeOf = async (child: ChildProcess): Promise<number | null> =>
  child.exitCode === null ? ((await once(child, 'exit')) as [number | null])[0] : child.exitCode;

test(
  'the chat streams answers of one conversation, and a refused message does not end it',
  async () => {
    const chat = runExample('cli-chat/chat.ts', [agentId]);
    chat.child.stdin?.write(`${question}\n`);
    await printed(chat, 'credits)');
    chat.child.stdin?.write(`${'x'.repeat(32_001)}\n`);
    await printed(chat, 'invalid_request: ');
    chat.child.stdin?.end('\n');
    expect(await ended(chat)).toMatch(/\d+[\s\S]*\(\d+ credits\)/);
  },
  limitMs,
);

test(
  'a service that cannot be reached does not end the chat',
  async () => {
    const chat = runExample('cli-chat/chat.ts', [agentId], { AGENT_SERVICE_URL: 'http://127.0.0.1:9' });
    chat.child.stdin?.end(`${question}\n\n`);
    expect(await ended(chat)).toContain('The connection failed');
  },
  limitMs,
);

test(
  'the report holds the answer to each question, and a repeated run is charged for none',
  async () => {
    const file = join(await testFolder(), 'report.md');
    const first = await ended(runExample('nightly-report/report.ts', [file, question, 'What is our revenue by month this year?']));
    expect(first).toMatch(/: 2 answers, \d+ credits/);
    const report = readFileSync(file, 'utf8');
    expect(report).toContain(`## ${question}`);
    const balance = await call(settings['AGENT_SERVICE_KEY'] ?? '', 'GET', '/v1/credits/balance');
    await ended(runExample('nightly-report/report.ts', [file, question, 'What is our revenue by month this year?']));
    expect(readFileSync(file, 'utf8')).toBe(report);
    expect((await call(settings['AGENT_SERVICE_KEY'] ?? '', 'GET', '/v1/credits/balance'))['balance']).toBe(balance['balance']);
  },
  limitMs,
);

test(
  'the bot answers signed events into their channel, an event that comes twice once, and refuses others',
  async () => {
    const posts: { channel: string; text: string }[] = [];
    const chat = createServer(async (request, response) => {
      let body = '';
      for await (const chunk of request) body += chunk;
      posts.push(JSON.parse(body) as (typeof posts)[number]);
      response.end();
    }).listen(0, '127.0.0.1');
    await once(chat, 'listening');
    try {
      const secret = 'the secret of the chat';
      const port = await freePort();
      const url = `http://127.0.0.1:${(chat.address() as AddressInfo).port}`;
      const bot = runExample('chat-bot/bot.ts', [], { CHAT_SECRET: secret, CHAT_URL: url, PORT: String(port) });
      await printed(bot, 'listening');
      const send = async (event: object, key = secret, at = Math.floor(Date.now() / 1000)) => {
        const body = JSON.stringify(event);
        const signature = `v0=${createHmac('sha256', key).update(`v0:${at}:${body}`).digest('hex')}`;
        const headers = { 'x-chat-request-timestamp': String(at), 'x-chat-signature': signature };
        return (await fetch(`http://127.0.0.1:${port}/events`, { method: 'POST', headers, body })).status;
      };
      const event = { event_id: 'one', channel: 'sales', user: 'ann', text: question };
      expect([await send(event, 'another secret'), await send(event, secret, 1_000)]).toEqual([401, 401]);
      expect(await send(event)).toBe(200);
      await until('the answer is posted', async () => posts.length === 1);
      const balance = async () => (await call(settings['AGENT_SERVICE_KEY'] ?? '', 'GET', '/v1/credits/balance'))['balance'];
      const [answered, before] = [{ channel: 'sales', text: expect.stringMatching(/\d/) }, await balance()];
      // The conversation of the channel has begun, so a second answer to the first event would come before that to the next one.
      expect(await send(event)).toBe(200);
      expect(await balance()).toBe(before);
      expect(await send({ ...event, event_id: 'two' })).toBe(200);
      await until('the next event is answered', async () => posts.length >= 2);
      expect(posts).toEqual([answered, answered]);
    } finally {
      chat.close();
    }
  },
  limitMs,
);

test.each([
  ['chat-bot/bot.ts', 'CHAT_SECRET'],
  ['webhook-receiver/receiver.ts', 'WEBHOOK_SECRET'],
])('%s does not start without %s', async (file, name) => {
  const program = runExample(file, [], { CHAT_URL: 'http://127.0.0.1:9', PORT: '0', [name]: '' });
  expect([await codeOf(program.child), program.output()]).toEqual([2, expect.stringContaining(name)]);
});

describeLong('the receivers of webhooks', () => {
  let proxy: Receiver;
  let port: number;
  let own: Awaited<ReturnType<typeof testSystem>>;
  let key: string;

  beforeAll(async () => {
    // Ends TLS in front of the receiver, as a proxy does.
    proxy = await receiver(async ({ path, headers, body }) => {
      const { host: _, connection: __, 'content-length': ___, ...sent } = headers;
      return { status: (await fetch(`http://127.0.0.1:${port}${path}`, { method: 'POST', headers: sent, body })).status };
    });
    const file = join(await testFolder(), 'ca.pem');
    writeFileSync(file, proxy.certificate.cert);
    own = await testSystem({ WEBHOOKS_ENABLED: 'true', WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8', WEBHOOK_CA_FILE: file }, { seed });
    key = readCredentials(join(own.dataDir, 'credentials.json'))?.api_keys.live ?? '';
  }, limitMs);
  afterAll(async () => {
    await own?.stop();
    await proxy?.stop();
  }, limitMs);

  const programs = [
    ['TypeScript', process.execPath, ['receiver.ts']],
    ['Python', 'python3', ['receiver.py']],
    ['Go', 'go', ['run', 'receiver.go']],
  ] as const;
  const missing = programs.filter(([, command]) => spawnSync(command, ['version']).error !== undefined);
  for (const [language] of missing)
    process.stdout.write(`test/examples: the receiver in ${language} is not run, because ${language} is not installed\n`);

  test.each(programs.filter((program) => !missing.includes(program)))(
    'the one in %s takes what is signed, once, and refuses what is not',
    async (language, command, args) => {
      port = await freePort();
      const webhook = await call(key, 'POST', '/v1/webhooks', { url: `${proxy.url}/${language}`, events: ['agent.created'] }, own.url);
      const env = { WEBHOOK_SECRET: String(webhook['secret']), PORT: String(port), PYTHONDONTWRITEBYTECODE: '1' };
      const program = run(command, args, env, example('webhook-receiver'));
      await printed(program, 'listening');
      await call(key, 'POST', '/v1/agents', { name: 'Told', system_prompt: 'Answer.', data_scope: { tables: [] } }, own.url);
      await printed(program, 'source_template_id');

      const delivery = proxy.requests.findLast(({ path }) => path === `/${language}`);
      const { host: __, connection: ___, 'content-length': ____, ...headers } = delivery?.headers ?? {};
      const post = async (changed: object, body = delivery?.body ?? '') =>
        (await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', headers: { ...headers, ...changed }, body })).status;
      const before = program.output();
      expect(await post({})).toBe(204);
      expect(await post({}, `${delivery?.body} `)).toBe(400);
      expect(await post({ 'webhook-timestamp': '1000' })).toBe(400);
      expect(await post({ 'webhook-signature': 'v1,AAAA' })).toBe(400);
      expect(await post({ 'webhook-signature': 'v1,é', 'webhook-timestamp': delivery?.headers['webhook-timestamp'] })).toBe(400);
      expect(await post({ 'webhook-timestamp': '²' })).toBe(400);
      expect(program.output()).toBe(before);
      await call(key, 'PATCH', `/v1/webhooks/${webhook['id']}`, { active: false }, own.url);
      // Base64 whose last bits are set is none that encodes bytes, and other text is none at all, so the service signs with the characters.
      for (const plainSecret of ['whsec_AAAAAAAAAAAAAAAAAAAAAB==', 'whsec_mein geheimes Wörterbuch']) {
        const timestamp = String(Math.floor(Date.now() / 1000));
        const body = JSON.stringify({ id: 'evt_own', type: 'agent.created', data: {} });
        const signature = createHmac('sha256', plainSecret).update(`evt_own.${timestamp}.${body}`).digest('base64');
        port = await freePort();
        await printed(
          run(command, args, { ...env, PORT: String(port), WEBHOOK_SECRET: plainSecret }, example('webhook-receiver')),
          'listening',
        );
        const signed = { 'webhook-id': 'evt_own', 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature}` };
        expect(await post(signed, body)).toBe(204);
      }
      const unset = run(command, args, { ...env, PORT: '0', WEBHOOK_SECRET: '' }, example('webhook-receiver'));
      expect([await codeOf(unset.child), unset.output()]).toEqual([expect.any(Number), expect.stringContaining('usage: WEBHOOK_SECRET')]);
    },
    limitMs,
  );
});

describeLong('the Python program of the guide about idempotent clients', () => {
  test('repeats a request under one key after its connection was lost, before the answer and within it', async () => {
    const guide = readFileSync(join(repositoryRoot, 'docs', 'guides', 'idempotent-clients.md'), 'utf8');
    const [, program = ''] = /```python as=post\.py\n(.*?)```/s.exec(guide) ?? [];
    const folder = await testFolder();
    writeFileSync(join(folder, 'post.py'), program);
    const keys: unknown[] = [];
    const service = createServer((request, response) => {
      keys.push(request.headers['idempotency-key']);
      if (keys.length === 1) request.socket.destroy();
      else if (keys.length === 2) response.writeHead(200, { 'content-length': '100' }).write('{"data"', () => request.socket.destroySoon());
      else response.end('{"data":{"content":"once"}}');
    }).listen(0, '127.0.0.1');
    await once(service, 'listening');
    try {
      const url = `http://127.0.0.1:${(service.address() as AddressInfo).port}`;
      const call = `import post; print(post.post("${url}", "key", {})["content"])`;
      const output = await ended(run('python3', ['-c', call], { PYTHONDONTWRITEBYTECODE: '1' }, folder));
      expect([output.trim(), keys.length, new Set(keys).size]).toEqual(['once', 3, 1]);
    } finally {
      service.close();
    }
  });
});

describeLong('the page of Next.js', () => {
  test('is built, shows its form, and streams an answer without the key', async () => {
    // Installed beside the repository's packages, from where the client is found, and outside of the example's own folder.
    const folder = join(repositoryRoot, '.cache', 'examples', 'nextjs-page');
    mkdirSync(folder, { recursive: true });
    cpSync(example('nextjs-page'), folder, { recursive: true });
    const config = join(folder, 'next.config.mjs');
    writeFileSync(config, readFileSync(config, 'utf8').replace("'..', '..'", "'..', '..', '..'"));
    const npm = (...words: string[]) => {
      const { status, stdout, stderr } = spawnSync('npm', words, { cwd: folder, encoding: 'utf8' });
      expect([status, `${stdout}${stderr}`]).toEqual([0, expect.any(String)]);
    };
    npm('install', '--no-audit', '--no-fund');
    npm('run', 'build');
    const port = await freePort();
    const next = join(folder, 'node_modules', 'next', 'dist', 'bin', 'next');
    const page = run(process.execPath, [next, 'start', '-H', '127.0.0.1', '-p', String(port)], settings, folder);
    await printed(page, 'Ready');
    const html = await (await fetch(`http://127.0.0.1:${port}/`)).text();
    expect(html).toContain('Ask our agent');
    expect(html).not.toContain('sa_live_');
    const ask = (body: string) => fetch(`http://127.0.0.1:${port}/api/ask`, { method: 'POST', body });
    const answer = await ask(JSON.stringify({ question }));
    expect([answer.status, await answer.text()]).toEqual([200, expect.stringMatching(/\d/)]);
    expect((await ask('{}')).status).toBe(400);
  }, 600_000);
});
