// Walks the path of a newcomer from a fresh clone and prints how long each step took: the README's start and first call, the guide to an own data source, and with
// --all those to streaming, webhook receivers and testing, with the programs and packages that they describe.
//   node scripts/newcomer.mjs [--installed] [--all]
// It needs git, npm, curl and bash, and leaves nothing behind. With --installed the clone gets the packages of this folder, which were installed from the same
// lock file. --all needs python3 and openssl, go for the receiver in Go, and for tests a Docker engine that has
// the images of docs/guides/testing.md; a step whose tools are missing is left out, and said so. The clone has what is committed.
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import { parseArgs } from 'node:util';
import { blocksOf } from './docs/blocks.mjs';
import { walk } from './docs/walk.mjs';

const { values: options } = parseArgs({
  options: { all: { type: 'boolean' }, installed: { type: 'boolean' } },
});
const limitSeconds = 600;
const firstCallSeconds = 60;
const folder = mkdtempSync(join(tmpdir(), 'newcomer-'));
// As a folder of a reader is, and not closed to all other users.
chmodSync(folder, 0o755);
const clone = join(folder, 'agent-service');
const steps = [];

async function timed(name, work) {
  const began = performance.now();
  const result = await work();
  steps.push({ name, seconds: (performance.now() - began) / 1000 });
  console.log(`${steps.at(-1).seconds.toFixed(1).padStart(7)} s  ${name}`);
  return result;
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  return port;
}

const port = await freePort();
const url = `http://127.0.0.1:${port}`;
const env = { ...process.env, PORT: String(port), PORTAL_PORT: String(await freePort()) };
for (const name of ['DATA_DIR', 'DATABASE_URL', 'REDIS_URL']) delete env[name];

/** Runs the marked blocks of a document where a reader would, and returns the output of each, which has to be that of the document. */
async function runDocument(path, adaptMore = (script) => script) {
  const adapt = (script) => adaptMore(script).replaceAll('http://127.0.0.1:8080', url);
  const text = readFileSync(join(clone, path), 'utf8');
  const { outputs, faults } = await walk(text, { cwd: clone, env, repository: clone, adapt, timeoutMs: limitMs });
  if (faults.length > 0) throw new Error(`${path}: ${faults.join('\n')}`);
  return outputs;
}

/** A folder that is no repository of this user, such as an unpacked archive, is copied, without what is installed, generated, built or running. */
function makeClone() {
  if (has('git', 'rev-parse', 'HEAD')) return execFileSync('git', ['clone', '-q', '--depth', '1', `file://${process.cwd()}`, clone]);
  console.log('no repository: the folder is copied instead');
  const isMade = (path) => /^(node_modules|\.data|\.cache|\.git|dist|gen)$/.test(basename(path));
  cpSync('.', clone, { recursive: true, filter: (path) => !isMade(path) });
}

/** Gives the clone the installed packages of this folder, as hard links where both are on one disk. */
function linkPackages() {
  const folders = [
    '.',
    'bench',
    'test',
    ...['packages', 'services'].flatMap((group) => readdirSync(group).map((name) => join(group, name))),
  ];
  for (const name of folders.map((folder) => join(folder, 'node_modules')).filter((name) => existsSync(name))) {
    const [from, to] = [name, join(clone, name)];
    if (spawnSync('cp', ['-a', '--link', from, to], { stdio: 'ignore' }).status === 0) continue;
    rmSync(to, { recursive: true, force: true });
    execFileSync('cp', ['-a', from, to]);
  }
}

/** The pages that the README names are there. */
async function readPages() {
  for (const address of [`${url}/docs`, `http://127.0.0.1:${env.PORTAL_PORT}/`]) {
    const { status } = await fetch(address, { signal: AbortSignal.timeout(limitMs) });
    if (status !== 200) throw new Error(`${address} answered ${status}`);
  }
}

/** A database of the newcomer's own: a table, and an account that may read it. */
async function makeOwnDatabase() {
  const { Client } = createRequire(join(clone, 'package.json'))('pg');
  const admin = new URL(JSON.parse(readFileSync(join(clone, '.data', 'endpoints.json'), 'utf8')).postgres);
  const work = async (database, statements) => {
    const client = new Client({ connectionString: Object.assign(new URL(admin), { pathname: database }).href });
    await client.connect();
    for (const statement of statements) await client.query(statement);
    await client.end();
  };
  await work(admin.pathname, ['create database erp', "create role agent_reader login password 'a-long-one'"]);
  await work('/erp', [
    'create table orders (id integer primary key, customer text not null, total numeric(10, 2) not null, ordered_on date not null)',
    "insert into orders select n, 'customer ' || n % 7, n * 10, current_date - n from generate_series(1, 42) n",
    'grant usage on schema public to agent_reader',
    'grant select on all tables in schema public to agent_reader',
  ]);
  return `postgres://agent_reader:a-long-one@${admin.host}/erp`;
}

function untilReady(start) {
  return new Promise((resolve, reject) => {
    let output = '';
    const read = (chunk) => {
      output += chunk;
      if (output.includes('Agent Service is ready')) resolve();
    };
    start.stdout.on('data', read);
    start.stderr.on('data', read);
    start.once('exit', (code) => reject(new Error(`npm start ended with ${code}:\n${output}`)));
  });
}

const limitMs = 120_000;
/** Node 24, which npm installed into the clone. */
const node = join(clone, 'node_modules', '.bin', 'node');
const run = (command, args, options = {}) =>
  execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], ...options });
const has = (command, ...args) => spawnSync(command, args, { stdio: 'ignore' }).status === 0;

/** The program of a guide, as a reader copies it into a file of a project. */
function copyProgram(guide, language, file) {
  const program = blocksOf(readFileSync(join(clone, 'docs', 'guides', guide), 'utf8')).find((block) => block.language === language);
  if (!program) throw new Error(`${guide} has no program in ${language}`);
  writeFileSync(file, program.content);
}

/** An empty project with a package that is built from the clone. */
function makeProject(name, ...npmWords) {
  const project = join(folder, `project-${name}`);
  mkdirSync(project);
  run(node, [join('scripts', 'build', `${name}.mjs`), join(folder, name)], { cwd: clone });
  writeFileSync(join(project, 'package.json'), JSON.stringify({ private: true, type: 'module' }));
  const archive = run('npm', ['pack', '--silent', join(folder, name)], { cwd: project }).trim();
  run('npm', ['install', ...npmWords, `./${archive}`], { cwd: project });
  return project;
}

function expectAnswer(output) {
  if (!/[0-9]+ credits/.test(output) || !output.includes('enterprise')) throw new Error(`no answer: ${output}`);
}

async function streamFromPrograms(agentId) {
  const { live } = JSON.parse(readFileSync(join(clone, '.data', 'credentials.json'), 'utf8')).api_keys;
  const settings = { ...env, AGENT_SERVICE_URL: url, AGENT_SERVICE_KEY: live, AGENT_ID: agentId };
  const question = 'How many customers do we have by segment?';
  await timed('TypeScript: package, project, streamed answer', () => {
    const project = makeProject('client');
    copyProgram('streaming.md', 'ts', join(project, 'stream.ts'));
    expectAnswer(run(node, ['stream.ts', question], { cwd: project, env: settings }));
  });
  if (!has('python3', '-c', 'import venv')) return console.log('        -  Python is left out: there is no python3 with venv');
  await timed('Python: environment, client, streamed answer', () => {
    const environment = join(folder, 'python');
    run('python3', ['-m', 'venv', environment]);
    run(join(environment, 'bin', 'pip'), ['install', '--quiet', './clients/python'], { cwd: clone });
    copyProgram('streaming.md', 'python', join(folder, 'stream_answer.py'));
    expectAnswer(run(join(environment, 'bin', 'python'), [join(folder, 'stream_answer.py'), question], { env: settings }));
  });
}

/** Ends TLS in front of a receiver, as the guide's proxy does. */
async function startTlsProxy(receiverPort) {
  const [key, cert] = [readFileSync(join(folder, 'key.pem')), readFileSync(join(folder, 'cert.pem'))];
  const proxy = createTlsServer({ key, cert }, (from) => {
    const to = connect(receiverPort, '127.0.0.1');
    from.on('error', () => to.destroy()).pipe(to);
    to.on('error', () => from.destroy()).pipe(from);
  }).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  return proxy;
}

/** Runs a receiver until it has printed a test event. */
async function receiveTestEvent(command, args, settings, sendTest) {
  const receiver = spawn(command, args, { cwd: clone, env: { ...env, ...settings }, stdio: ['ignore', 'pipe', 'inherit'], detached: true });
  try {
    let output = '';
    for await (const chunk of receiver.stdout.setEncoding('utf8')) {
      const isFirst = !output.includes('listening') && (output + chunk).includes('listening');
      output += chunk;
      if (isFirst) await sendTest();
      if (output.includes('webhook.test')) return;
    }
    throw new Error(`the receiver ended: ${output}`);
  } finally {
    process.kill(-receiver.pid, 'SIGTERM');
  }
}

async function receiveWebhooks() {
  await timed('start again, with webhooks and a certificate', async () => {
    await stopSystem();
    const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'];
    run('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '30', ...subject, '-keyout', 'key.pem', '-out', 'cert.pem'], {
      cwd: folder,
    });
    await startSystem({
      WEBHOOKS_ENABLED: 'true',
      WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8,::1/128',
      WEBHOOK_CA_FILE: join(folder, 'cert.pem'),
    });
  });
  const receiverPort = await freePort();
  const proxy = await startTlsProxy(receiverPort);
  const { live } = JSON.parse(readFileSync(join(clone, '.data', 'credentials.json'), 'utf8')).api_keys;
  const post = async (path, body) => {
    const headers = { authorization: `Bearer ${live}`, 'content-type': 'application/json' };
    const signal = AbortSignal.timeout(limitMs);
    const response = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body), signal });
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
    return (await response.json()).data;
  };
  const webhook = await post('/v1/webhooks', { url: `https://localhost:${proxy.address().port}/`, events: ['agent.created'] });
  const settings = { PORT: String(receiverPort), WEBHOOK_SECRET: webhook.secret };
  const receivers = { TypeScript: [node, 'receiver.ts'], Python: ['python3', 'receiver.py'], Go: ['go', 'run', 'receiver.go'] };
  for (const [language, [command, ...words]] of Object.entries(receivers)) {
    const file = join('examples', 'webhook-receiver', words.pop());
    if (!has(command, command === 'go' ? 'version' : '--version'))
      console.log(`        -  the receiver in ${language} is left out: there is no ${command}`);
    else
      await timed(`webhook received in ${language}`, () =>
        receiveTestEvent(command, [...words, file], settings, () => post(`/v1/webhooks/${webhook.id}/test`, {})),
      );
  }
  proxy.close();
}

async function testWithContainers() {
  if (!has('docker', 'image', 'inspect', 'agent-service-embedded:0.1.0'))
    return console.log('        -  tests are left out: no Docker engine here has the image agent-service-embedded:0.1.0');
  let project;
  await timed('Testcontainers module: package, project', () => {
    project = makeProject('testcontainers', '--save-dev');
    copyProgram('testing.md', 'ts', join(project, 'agent.test.ts'));
  });
  await timed('the test of the guide, container included', () =>
    run(node, ['--test', 'agent.test.ts'], { cwd: project, env: { ...env, TESTCONTAINERS_RYUK_DISABLED: 'true' }, timeout: limitMs }),
  );
}

let start;

function startSystem(settings = {}) {
  start = spawn('npm', ['start'], { cwd: clone, env: { ...env, ...settings }, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  return untilReady(start);
}

async function stopSystem() {
  if (start && start.exitCode === null && start.signalCode === null) {
    const ended = once(start, 'exit');
    process.kill(-start.pid, 'SIGINT');
    await ended;
  }
}

async function stop() {
  await stopSystem();
  rmSync(folder, { recursive: true, force: true });
}

for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => void stop().finally(() => process.exit(1)));
try {
  await timed('a clone', makeClone);
  if (options.installed) await timed('packages of this folder, which are installed', linkPackages);
  await timed('npm start, to its addresses and keys', startSystem);
  const agentId = await timed(
    'first call of the README, answered',
    async () => /agt_[0-9a-z]+/.exec((await runDocument('README.md')).join(''))[0],
  );
  const { seconds } = steps.at(-1);
  if (seconds > firstCallSeconds) throw new Error(`the first call took ${seconds} s of ${firstCallSeconds}`);
  await timed('pages that the README names', readPages);
  await walkFurther(agentId);
} finally {
  await stop();
}

/** From the first call to an answer over own data, and with --all through the other guides. */
async function walkFurther(agentId) {
  const source = await timed('a database of the newcomer', makeOwnDatabase);
  await timed('guide to an own data source, answered', async () => {
    const outputs = await runDocument('docs/guides/own-data-source.md', (script) =>
      script.replaceAll(/postgres:\/\/[^']*@db\.example\.com[^']*/g, source),
    );
    if (!outputs.some((output) => /"content":"[^"]*42/.test(output))) throw new Error(`no answer over 42 orders: ${outputs.join('')}`);
  });
  const total = steps.reduce((sum, { seconds }) => sum + seconds, 0);
  console.log(`${total.toFixed(1).padStart(7)} s  from nothing to an answer over own data (limit ${limitSeconds} s)`);
  process.exitCode = total > limitSeconds ? 1 : 0;
  if (options.all) {
    await streamFromPrograms(agentId);
    await receiveWebhooks();
    await testWithContainers();
  }
}
