// Bundles every process into JavaScript, with source maps, that Node loads without stripping types or resolving a thousand modules.
//   node scripts/build.mjs              builds into .cache/build/<hash of the sources>, unless that exists, and prints the folder
//   node scripts/build.mjs --out dist   builds into a folder of its own, for an image
// Runs on Node >= 18. A build is never changed: processes load parts of it later.

import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ensureBuildAt, loadEnglishMessages } from './build/builds.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const cache = join(root, '.cache', 'build');
const keptBuilds = 6;

/** Found by Node beside the build at run time: packages that load WebAssembly or files of their own, and one that is not installed. */
const external = ['libpg-query', '@scalar/fastify-api-reference', 'pg-native'];

/** How a source names a file that it starts as a thread or a child process. */
const startedFile = /new URL\('(\.[^']+\.ts)', import\.meta\.url\)/g;

/** Programs that prepare or check a deployment, and end. */
const deploymentPrograms = ['setup', 'prepare', 'migrate', 'demonstration', 'smoke-test', 'embedded'];

/** The files that Node runs, by the name of their bundle. */
function entryPoints() {
  const services = readdirSync(join(root, 'services')).flatMap((name) => [
    [name, join(root, 'services', name, 'src', 'main.ts')],
    [`${name}-migrate`, join(root, 'services', name, 'src', 'migrate.ts')],
  ]);
  const started = sourceFiles().flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(startedFile)].map(([, target]) => resolve(dirname(file), target)),
  );
  return Object.fromEntries([
    ...services.filter(([, file]) => existsSync(file)),
    ...services
      .map(([name]) => [`${name}-config`, join(root, 'services', name, 'src', 'config.ts')])
      .filter(([, file]) => existsSync(file)),
    ['local', join(root, 'packages/local/src/start.ts')],
    ['admin', join(root, 'packages/cli/src/main.ts')],
    ...deploymentPrograms.map((name) => [name, join(root, 'packages/local/src/deployment', `${name}.ts`)]),
    ...started.map((file) => [startedName(file), file]),
  ]);
}

/** `services/answer-worker/src/apart/main.ts` becomes `answer-worker-apart-main`. */
function startedName(file) {
  const [, ...parts] = relative(root, file).replace(/\.ts$/, '').split(sep);
  return parts.filter((part) => part !== 'src').join('-');
}

/** The folder of the build of these sources. It may not exist yet. */
export function buildFolder() {
  const hash = createHash('sha256');
  const protos = filesBelow(join(root, 'proto'), '.proto');
  const tools = [...filesBelow(join(root, 'scripts', 'build'), '.mjs'), fileURLToPath(import.meta.url)];
  for (const file of [...sourceFiles(), ...protos, ...tools, join(root, 'package-lock.json')])
    hash.update(relative(root, file)).update('\0').update(readFileSync(file)).update('\0');
  return join(cache, hash.digest('hex').slice(0, 16));
}

function sourceFiles() {
  const inSources = ['packages', 'services'].flatMap((kind) =>
    readdirSync(join(root, kind)).flatMap((name) => (name === 'testkit' ? [] : filesBelow(join(root, kind, name, 'src'), '.ts'))),
  );
  const isGenerated = (file) => relative(root, file).split(sep).includes('gen');
  return inSources.filter((file) => !file.endsWith('.test.ts') && !isGenerated(file));
}

function filesBelow(folder, ending) {
  if (!existsSync(folder)) return [];
  const entries = readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
  return entries.flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return filesBelow(path, ending);
    return path.endsWith(ending) ? [path] : [];
  });
}

/** Builds these sources unless that has been done, and returns the folder. `npm start` follows the link. */
export const ensureBuild = () => ensureBuildAt(buildFolder(), build, { retained: keptBuilds, link: join(cache, 'current') });

/** Writes the bundles into the folder, and returns the files in them. They find the repository's other files, such as the protos, relative to it. */
export async function build(folder) {
  const esbuild = await import('esbuild');
  mkdirSync(folder, { recursive: true });
  const entries = entryPoints();
  const options = {
    absWorkingDir: root,
    outdir: folder,
    bundle: true,
    splitting: true,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    sourcemap: 'linked',
    sourcesContent: false,
    minifyWhitespace: true,
    // Node prints the line of an error.
    lineLimit: 200,
    legalComments: 'none',
    external,
    inject: [join(root, 'scripts', 'build', 'stack-traces.mjs')],
    plugins: [plugin(entries)],
    banner: { js: banner(folder) },
    logLevel: 'warning',
    metafile: true,
  };
  const builds = groupsOf(entries).map((group) => esbuild.build({ ...options, entryPoints: group, chunkNames: 'part-[hash]' }));
  const outputs = (await Promise.all(builds)).flatMap(({ metafile }) => Object.values(metafile.outputs));
  return new Set(outputs.flatMap(({ inputs }) => Object.keys(inputs)));
}

/**
 * Processes in one group share the work of building. A process also loads files that only others of its group use, if they are exported by a
 * file that it imports, so a group has processes with the same large libraries.
 */
function groupsOf(entries) {
  const queues = ['agents', 'answer-worker', 'webhooks', 'webhook-dispatcher'];
  const migrations = Object.keys(entries).filter((name) => name.endsWith('-migrate'));
  const databases = ['identity', 'credits', ...migrations];
  // `npm start` reads the settings of every process with these, and needs nothing else of a process for that.
  const isConfig = (name) => name.endsWith('-config');
  const isOther = (name) => !queues.includes(name) && !databases.includes(name) && !isConfig(name);
  const isMember = [(name) => queues.includes(name), (name) => databases.includes(name), isConfig, isOther];
  return isMember.map((belongs) => Object.fromEntries(Object.entries(entries).filter(([name]) => belongs(name))));
}

/** Packages that are no modules call `require`; `__root` is the repository, or the folder of an image that takes its place. */
function banner(folder) {
  const toRoot = JSON.stringify(`${relative(folder, root).split(sep).join('/')}/`);
  return [
    "import { createRequire as __createRequire } from 'node:module';",
    "import { fileURLToPath as __toPath } from 'node:url';",
    'const require = __createRequire(import.meta.url);',
    `const __rootUrl = new URL(${toRoot}, import.meta.url);`,
    'const __root = __toPath(__rootUrl);',
  ].join('\n');
}

/** Keeps what depends on where a file is, and leaves out what no process uses. */
function plugin(entries) {
  const names = new Map(Object.entries(entries).map(([name, file]) => [file, name]));
  const loaded = new Map();
  return {
    name: 'agent-service',
    setup(esbuild) {
      // Importing this module reads all its exports, and one of them loads undici: 12 MB. Requiring it does not.
      esbuild.onResolve({ filter: /^(node:)?http$/ }, ({ kind }) =>
        kind === 'import-statement' ? { path: 'node:http', namespace: 'required' } : undefined,
      );
      esbuild.onLoad({ filter: /^node:http$/, namespace: 'required' }, () => ({ contents: "module.exports = require('node:http');" }));
      loadEnglishMessages(esbuild);
      esbuild.onLoad({ filter: /\.([cm]?js|ts)$/ }, ({ path }) => {
        if (!loaded.has(path)) loaded.set(path, load(path, names));
        return loaded.get(path);
      });
    },
  };
}

function load(path, names) {
  const source = readFileSync(path, 'utf8');
  if (path.includes(`${sep}node_modules${sep}`)) return { contents: relocateScript(source, path) + withoutMap, loader: 'js' };
  if (path.endsWith('.mjs')) return { contents: source, loader: 'js' };
  return { contents: relocateModule(source, path, names), loader: 'ts' };
}

/** The maps of packages would be ten times as large as ours. */
const withoutMap = `\n//# sourceMappingURL=data:application/json;base64,${btoa('{"version":3,"sources":[""],"mappings":"AAAA"}')}\n`;

const fromRoot = (path) => JSON.stringify(relative(root, path).split(sep).join('/'));

/** A package reads its files where they are. */
function relocateScript(source, path) {
  return source
    .replaceAll(/\b__dirname\b/g, `(__root + ${fromRoot(dirname(path))})`)
    .replaceAll(/\b__filename\b/g, `(__root + ${fromRoot(path)})`);
}

/** Threads and child processes run their own bundles; everything else is where the source says. */
function relocateModule(source, path, names) {
  const ownBundles = source.replaceAll(
    startedFile,
    (_all, file) => `new URL('./${names.get(resolve(dirname(path), file))}.js', import.meta.bundle)`,
  );
  return ownBundles
    .replaceAll('import.meta.url', `new URL(${fromRoot(path)}, __rootUrl).href`)
    .replaceAll('import.meta.bundle', 'import.meta.url');
}

if (process.argv[1] && resolve(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const out = process.argv[2] === '--out' ? process.argv[3] : undefined;
  if (out !== undefined) await build(resolve(out));
  process.stdout.write(`${out === undefined ? await ensureBuild() : resolve(out)}\n`);
}
