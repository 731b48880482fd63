// Collects the content of the image in a folder: node scripts/build/image.mjs /image. deploy/Dockerfile runs it in /app, where the image has its files,
// because bundles find files relative to their own, and V8's compile cache knows them by their path.

import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, chownSync, cpSync, globSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createSemaphore } from '../../packages/work/src/semaphore.ts';
import { build } from '../build.mjs';
import { writeProtos } from './protos.mjs';
import { buildWeb } from './web.mjs';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const [, , image] = process.argv;
/** No user of the base image; numeric, because Kubernetes checks it. */
const user = 10_001;

/** The packages that are not bundled, with the files that processes load: all of them where there is no list. */
const packages = {
  ...withDependencies('libpg-query'),
  '@scalar/fastify-api-reference': ['package.json', 'dist/index.js'],
};

/** A new volume takes its owner from the folder of the image; `setup` writes the settings of each process into one. */
const programsWithSettings = [...readdirSync(join(root, 'services')), 'migrate', 'demonstration', 'operator'];
const volumes = ['data', ...programsWithSettings.map((name) => `config/${name}`)];
/** Ends a load that hangs. A load takes half a second of a processor, of which a busy or emulated machine gives little. */
const loadLimitMs = 300_000;

writeProtos(join(root, 'packages', 'contracts', 'src', 'gen'));
const bundled = new Set([...(await build(join(root, 'dist'))), ...(await buildWeb(join(image, 'app', 'services/portal/web/dist')))]);
copy('services/templates/catalogue');
copy('package.json');
cpSync(join(root, 'deploy', 'entrypoint.mjs'), join(image, 'app', 'entrypoint.mjs'));
for (const [name, files] of Object.entries(packages)) {
  const folder = join('node_modules', name);
  for (const file of files ?? ['']) copy(join(folder, file));
}
await makeCompileCache();
copy('dist');
writeFileSync(join(image, 'app', 'sbom.cdx.json'), JSON.stringify(billOfMaterials(), null, 1));
for (const folder of volumes) mkdirSync(join(image, folder), { recursive: true });

/** A package and what it requires, all of their files. */
function withDependencies(name) {
  const { dependencies = {} } = JSON.parse(readFileSync(join(root, 'node_modules', name, 'package.json'), 'utf8'));
  return Object.assign({ [name]: undefined }, ...Object.keys(dependencies).map(withDependencies));
}

function copy(path) {
  mkdirSync(dirname(join(image, 'app', path)), { recursive: true });
  cpSync(join(root, path), join(image, 'app', path), { recursive: true });
}

/** Loads each bundle once as the image's user: the cache is by user, and processes of the image cannot write to it. */
async function makeCompileCache() {
  const folder = join(root, 'dist', 'compile-cache');
  mkdirSync(folder);
  const owner = process.getuid() === 0 ? { uid: user, gid: user } : {};
  if (owner.uid) chownSync(folder, owner.uid, owner.gid);
  const isLoaded = (file) => /^[a-z-]+\.js$/.test(file) && !['local.js', 'embedded.js'].includes(file);
  const turns = createSemaphore(availableParallelism());
  await Promise.all(
    readdirSync(join(root, 'dist'))
      .filter(isLoaded)
      .map((file) => turns.run(() => load(join(root, 'dist', file), folder, owner))),
  );
  // Node lets only their owner read them, and in the image everything belongs to root.
  for (const file of globSync(join(folder, '*', '*'))) chmodSync(file, 0o644);
}

/** Without settings a process loads its modules, says which settings it needs, and ends. */
function load(file, cache, owner) {
  return new Promise((resolve, reject) => {
    const program = 'import(process.argv[1]).finally(() => process.exit())';
    const options = [...process.execArgv, '-e', program, file];
    const child = spawn(process.execPath, options, { env: { NODE_COMPILE_CACHE: cache }, stdio: 'ignore', ...owner });
    const timer = setTimeout(() => child.kill('SIGKILL'), loadLimitMs);
    child.once('error', reject);
    child.once('exit', (_code, signal) => {
      clearTimeout(timer);
      if (signal) reject(new Error(`${file} was not loaded within ${loadLimitMs / 1000} s`));
      else resolve();
    });
  });
}

/** The packages that the image has, bundled or not, with their versions, hashes and licences. */
function billOfMaterials() {
  // Vite has set NODE_ENV, under which npm leaves out the packages of the pages.
  const options = ['--package-lock-only', '--include=dev', '--sbom-format=cyclonedx', '--loglevel=error'];
  const text = execFileSync('npm', ['sbom', ...options], { cwd: root, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });
  const bill = JSON.parse(text);
  const refs = new Set([...packageFolders()].map(referenceOf));
  const components = bill.components.filter((component) => refs.has(component['bom-ref']));
  if (components.length < refs.size) throw new Error(`npm knows ${components.length} of the ${refs.size} packages of the image`);
  refs.add(bill.metadata.component['bom-ref']);
  const known = (names) => names.filter((name) => refs.has(name));
  const dependencies = bill.dependencies
    .filter(({ ref }) => refs.has(ref))
    .map(({ ref, dependsOn = [] }) => ({ ref, dependsOn: known(dependsOn) }));
  const metadata = { ...bill.metadata, component: { ...bill.metadata.component, name: 'agent-service' } };
  return { ...bill, metadata, components, dependencies };
}

/** The folder of each package that is bundled or copied. */
function packageFolders() {
  const inBundles = [...bundled].flatMap((file) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? []);
  return new Set([...inBundles, ...Object.keys(packages).map((name) => join('node_modules', name))]);
}

function referenceOf(folder) {
  const { name, version } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'));
  return `${name}@${version}`;
}
