// Builds the pages of the portal: node scripts/build/web.mjs, which prints the folder, or --out <folder>.
// A build is in .cache/web/<hash of the sources>, complete or absent; the link services/portal/web/dist leads to the last one. Needs Node >= 22.12, as Vite does.

import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, extname, join, relative, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { ensureBuildAt } from './builds.mjs';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const web = join(root, 'services', 'portal', 'web');
const cache = join(root, '.cache', 'web');
const keptBuilds = 3;
/** Every source of the pages. The shared package has one file that they import, and the types of the client leave no trace in them. */
const sources = ['src', 'public', 'index.html', 'vite.config.ts', 'package.json'].map((name) => join(web, name));
const shared = [join(root, 'packages/contracts/src/agents/data-scope.ts'), join(root, 'package-lock.json'), fileURLToPath(import.meta.url)];
const compressible = ['.html', '.js', '.css', '.json', '.svg'];
const smallestCompressed = 512;

/** The folder of the build of these sources. It may not exist yet. */
export function webFolder() {
  const hash = createHash('sha256');
  for (const file of [...sources.flatMap(filesBelow), ...shared])
    hash.update(relative(root, file)).update('\0').update(readFileSync(file)).update('\0');
  return join(cache, hash.digest('hex').slice(0, 16));
}

function filesBelow(path) {
  if (!statSync(path).isDirectory()) return [path];
  return readdirSync(path)
    .sort()
    .flatMap((name) => filesBelow(join(path, name)));
}

/** Builds these sources unless that has been done, and returns the folder. The portal serves from the link. */
export const ensureWeb = () => ensureBuildAt(webFolder(), buildWeb, { retained: keptBuilds, link: join(web, 'dist') });

/** Writes the pages into the folder, with compressed files beside the plain ones. Returns the files that they were made of, from the root. */
export async function buildWeb(folder) {
  const vite = createRequire(join(web, 'package.json')).resolve('vite');
  const { build } = await import(pathToFileURL(vite).href);
  mkdirSync(dirname(folder), { recursive: true });
  const configFile = join(web, 'vite.config.ts');
  const { output } = await inProduction(() =>
    build({ root: web, configFile, logLevel: 'warn', build: { outDir: folder, emptyOutDir: true } }),
  );
  await Promise.all(filesBelow(folder).map(compress));
  return output.flatMap(({ moduleIds = [] }) => moduleIds.map((id) => relative(root, id.split('?')[0])));
}

/** Under another NODE_ENV, as Jest sets it, Vite takes React's development build: half as large again, and slower. */
async function inProduction(work) {
  const { NODE_ENV: before } = process.env;
  process.env.NODE_ENV = 'production';
  try {
    return await work();
  } finally {
    if (before === undefined) delete process.env.NODE_ENV;
    else process.env.NODE_ENV = before;
  }
}

async function compress(file) {
  const plain = readFileSync(file);
  if (!compressible.includes(extname(file)) || plain.length < smallestCompressed) return;
  const params = { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_SIZE_HINT]: plain.length };
  writeFileSync(`${file}.br`, await promisify(brotliCompress)(plain, { params }));
  writeFileSync(`${file}.gz`, await promisify(gzip)(plain, { level: 9 }));
}

if (process.argv[1] && resolve(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const out = process.argv[2] === '--out' ? resolve(process.argv[3]) : undefined;
  if (out !== undefined) await buildWeb(out);
  process.stdout.write(`${out ?? (await ensureWeb())}\n`);
}
