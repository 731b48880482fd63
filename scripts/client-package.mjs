// Checks the published form of the TypeScript client: its exports, its types under strict consumers, both module systems, and a browser's bundle; and that of
// the Testcontainers module: its exports, and the program of its guide under a strict compiler.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { build } from 'esbuild';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { buildClient } from './build/client.mjs';
import { buildTestcontainers } from './build/testcontainers.mjs';
import { blocksOf } from './docs/blocks.mjs';

const folder = resolve('.cache', 'client-package');
const published = join(folder, 'node_modules', '@agent-service', 'client');
const testcontainers = join(folder, 'node_modules', '@agent-service', 'testcontainers');
const installed = createRequire(resolve('packages/client/package.json'));
/** Bytes of a minified bundle with everything, and with the check of webhooks alone. */
const mostBytes = { all: 20_000, webhooks: 4_000 };

const consumer = `import {
  apiKey, type Agent, createClient, entries, isApiError, type Message, sendMessage, streamAnswer, verifyWebhook,
} from '@agent-service/client';
const client = createClient({ baseUrl: 'https://agents.example.com', auth: apiKey('sa_live_1') });
export async function use(): Promise<Message> {
  const { data: agent }: { data: Agent } = await client.get('/v1/agents/{agent_id}', { path: { agent_id: 'agt_1' } });
  const { data: created } = await client.post('/v1/agents', { body: { name: 'a', system_prompt: 'b', data_scope: { tables: ['orders'] } } });
  const id: string = created.id;
  for await (const { name } of entries(client, '/v1/agents', { query: { limit: 10 } })) name.toUpperCase();
  for await (const event of streamAnswer(client, id, { message: 'Hello' })) if (event.type === 'completed') return event.message;
  const nothing: undefined = await client.delete('/v1/agents/{agent_id}', { path: { agent_id: agent.id } });
  try {
    return await sendMessage(client, id, { message: 'Hello', context: { a: 1 } }, { signal: new AbortController().signal });
  } catch (error) {
    if (isApiError(error, 'credits_exhausted')) error.remedy.trim();
    throw error ?? nothing;
  }
}
export const verify = verifyWebhook;
// @ts-expect-error the path has no such parameter
void client.get('/v1/agents/{agent_id}', { path: { agent: 'agt_1' } });
// @ts-expect-error there is no such path
void client.get('/v1/agent');
// @ts-expect-error the body lacks required fields
void client.post('/v1/agents', { body: { name: 'a' } });
// @ts-expect-error a name is text
void client.patch('/v1/agents/{agent_id}', { path: { agent_id: 'agt_1' }, body: { name: 1 } });
`;

/** How consumers resolve packages, with every strict option, and with their library checks on. */
const consumers = {
  'esm.mts': { module: 'nodenext', moduleResolution: 'nodenext' },
  'cjs.cts': { module: 'nodenext', moduleResolution: 'nodenext' },
  'bundler.ts': { module: 'esnext', moduleResolution: 'bundler', verbatimModuleSyntax: true },
};
const strict = {
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  noPropertyAccessFromIndexSignature: true,
  skipLibCheck: false,
  noEmit: true,
  target: 'es2022',
  lib: ['es2022', 'dom', 'dom.iterable'],
  types: [],
};
const compilers = { 'TypeScript 5': installed.resolve('typescript/bin/tsc'), 'TypeScript 7': resolve('node_modules/typescript/bin/tsc') };

const findings = [];
const note = (name, output) => findings.push(`${name}: ${output.trim()}`);

async function checkManifest() {
  for (const pkgDir of [published, testcontainers]) {
    const { messages, pkg } = await publint({ pkgDir, strict: true, pack: false });
    for (const message of messages) note(`publint, ${pkg.name}`, formatMessage(message, pkg, { color: false }) ?? message.code);
  }
  const { status, stdout, stderr } = spawnSync('node_modules/.bin/attw', ['--pack', published, '--no-color', '--no-emoji'], {
    encoding: 'utf8',
  });
  if (status !== 0) note('arethetypeswrong', `${stdout}${stderr}`);
}

function compileConsumers() {
  for (const [file, options] of Object.entries(consumers)) {
    writeFileSync(join(folder, file), consumer);
    const config = join(folder, `${file}.json`);
    writeFileSync(config, JSON.stringify({ compilerOptions: { ...strict, ...options }, files: [join(folder, file)] }));
    for (const [name, compiler] of Object.entries(compilers)) {
      const { status, stdout } = spawnSync(process.execPath, [compiler, '-p', config], { encoding: 'utf8' });
      if (status !== 0) note(`${name}, ${file}`, stdout);
    }
  }
}

/** The module needs Node and libraries, whose own declarations are not checked. */
function compileGuide() {
  const program = blocksOf(readFileSync('docs/guides/testing.md', 'utf8')).find(({ language }) => language === 'ts');
  const file = join(folder, 'guide.mts');
  writeFileSync(file, program.content);
  const config = join(folder, 'guide.json');
  const compilerOptions = { ...strict, ...consumers['esm.mts'], skipLibCheck: true, types: ['node'] };
  writeFileSync(config, JSON.stringify({ compilerOptions, files: [file] }));
  const { status, stdout } = spawnSync(process.execPath, [compilers['TypeScript 7'], '-p', config], { encoding: 'utf8' });
  if (status !== 0) note('docs/guides/testing.md', stdout);
}

function loadBoth() {
  const script = 'if (typeof createClient !== "function") process.exit(1);';
  const programs = {
    'load.mjs': `import { createClient } from '@agent-service/client';\n${script}`,
    'load.cjs': `const { createClient } = require('@agent-service/client');\n${script}`,
  };
  for (const [file, text] of Object.entries(programs)) {
    writeFileSync(join(folder, file), text);
    execFileSync(process.execPath, [join(folder, file)]);
  }
}

/** A browser has no modules of Node, and what a program does not use stays out of its bundle. */
async function bundleForBrowsers() {
  const sizes = {};
  const programs = { all: "export * from '@agent-service/client';", webhooks: "export { verifyWebhook } from '@agent-service/client';" };
  for (const [name, contents] of Object.entries(programs)) {
    const { outputFiles, warnings, metafile } = await build({
      stdin: { contents, resolveDir: folder },
      bundle: true,
      minify: true,
      platform: 'browser',
      format: 'esm',
      target: 'es2022',
      write: false,
      metafile: true,
    });
    sizes[name] = outputFiles[0].contents.length;
    for (const { text } of warnings) note('esbuild', text);
    const outside = Object.keys(metafile.inputs).filter((path) => path !== '<stdin>' && !path.includes('@agent-service/client/esm/'));
    if (outside.length > 0) note('esbuild', `the bundle has ${outside.join(', ')}`);
    if (sizes[name] > mostBytes[name]) note('esbuild', `${sizes[name]} bytes of ${name}, more than ${mostBytes[name]}`);
  }
  return sizes;
}

rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
buildClient(published);
buildTestcontainers(testcontainers);
await checkManifest();
compileConsumers();
compileGuide();
loadBoth();
const sizes = await bundleForBrowsers();
for (const finding of findings) console.log(finding);
console.log(`${sizes.all} bytes for browsers, ${sizes.webhooks} with verifyWebhook alone`);
process.exitCode = findings.length > 0 ? 1 : 0;
