// Bundles the libraries that many suites load. Jest reads each module again for each suite: these are 1,300 files, up to a quarter of a second of processor.
// Runs in the process that reads Jest's configuration, on Node >= 24.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ensureBuildAt, loadEnglishMessages } from './builds.mjs';

const root = fileURLToPath(new URL('../../', import.meta.url));
const cache = join(root, '.cache', 'test-libraries');
const keptBundles = 4;
/** Properties are checked from one seed. */
const seeded = join(root, 'packages', 'testkit', 'fast-check.mjs');
const lock = join(root, 'package-lock.json');
const tools = [import.meta.filename, join(import.meta.dirname, 'builds.mjs'), seeded];

const libraries = [
  '@grpc/grpc-js',
  '@mikro-orm/migrations',
  '@mikro-orm/postgresql',
  '@opentelemetry/api',
  'bullmq',
  'bullmq-otel',
  'express',
  'fast-check',
  'ioredis',
  'jsonwebtoken',
  'pg',
  'pino',
  'prom-client',
  'zod',
];

/** The bundles of these libraries as Jest's `moduleNameMapper`. They are made again when the lock file changes. */
export async function mapLibraries() {
  const installed = readFileSync(lock);
  for (const library of libraries) checkSingle(library, Object.keys(JSON.parse(installed).packages));
  // Older versions of Node tell other names of CommonJS modules.
  const hash = createHash('sha256').update(process.version).update(installed);
  for (const file of tools) hash.update(readFileSync(file));
  const folder = await ensureBuildAt(join(cache, hash.digest('hex').slice(0, 16)), bundle, { retained: keptBundles });
  return Object.fromEntries(libraries.map((library) => [`^${library}$`, join(folder, `${fileOf(library)}.mjs`)]));
}

/** A bundle takes the place of a library for everything that imports it: a library of which several versions are installed has none. */
function checkSingle(library, folders) {
  const installed = folders.filter((folder) => folder.endsWith(`node_modules/${library}`));
  if (installed.length !== 1) throw new Error(`take ${library} out of ${import.meta.filename}: it is installed as ${installed.join(', ')}`);
}

const fileOf = (library) => library.replaceAll(/[@./]+/g, '-').replace(/^-/, '');

async function bundle(folder) {
  const esbuild = await import('esbuild');
  const sources = Object.fromEntries(await Promise.all(libraries.map(async (library) => [library, await sourceOf(library)])));
  await esbuild.build({
    absWorkingDir: root,
    entryPoints: libraries.map((library) => ({ in: library === 'fast-check' ? seeded : `library:${library}`, out: fileOf(library) })),
    outdir: folder,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    // Libraries that use each other share one copy.
    splitting: true,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    legalComments: 'none',
    external: ['pg-native'],
    banner: { js: "import { createRequire as __createRequire } from 'node:module';\nconst require = __createRequire(import.meta.url);" },
    plugins: [{ name: 'libraries', setup: (build) => resolveLibraries(build, sources) }],
    logLevel: 'warning',
  });
}

/** A module that exports everything that Node's own import of the library has: the names of CommonJS modules are known only when they run. */
async function sourceOf(library) {
  const exported = await import(library);
  if (!('module.exports' in exported)) {
    return `export * from '${library}';\n${'default' in exported ? `export { default } from '${library}';` : ''}`;
  }
  const names = Object.keys(exported).filter((name) => name !== 'default' && name !== 'module.exports');
  return [
    `const library = require('${library}');`,
    'export default library;',
    `const { ${names.map((name, index) => `${name}: _${index}`).join(', ')} } = library;`,
    `export { ${names.map((name, index) => `_${index} as ${name}`).join(', ')} };`,
  ].join('\n');
}

function resolveLibraries(build, sources) {
  build.onResolve({ filter: /^library:/ }, ({ path }) => ({ path: path.slice('library:'.length), namespace: 'library' }));
  build.onLoad({ filter: /./, namespace: 'library' }, ({ path }) => ({ contents: sources[path], resolveDir: root }));
  loadEnglishMessages(build);
  // Libraries read files of their own where they are installed.
  build.onLoad({ filter: /\.[cm]?js$/ }, ({ path }) => ({
    contents: readFileSync(path, 'utf8')
      .replaceAll(/\b__dirname\b/g, JSON.stringify(dirname(path)))
      .replaceAll(/\b__filename\b/g, JSON.stringify(path)),
    loader: 'js',
  }));
}
