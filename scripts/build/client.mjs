// Builds the package of the TypeScript client as it is published: node scripts/build/client.mjs FOLDER
// ESM and CommonJS, each with its own types, so that both kinds of importers get what they resolve.

import { execFileSync } from 'node:child_process';
import { cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const client = join(root, 'packages', 'client');
/** Its declarations are read by every version of TypeScript 5 that consumers have. */
export const compiler = join(client, 'node_modules', 'typescript', 'bin', 'tsc');

const options = {
  strict: true,
  exactOptionalPropertyTypes: true,
  target: 'es2022',
  lib: ['es2023', 'dom', 'dom.iterable', 'dom.asynciterable'],
  types: [],
  declaration: true,
  allowImportingTsExtensions: true,
  rewriteRelativeImportExtensions: true,
  noEmitOnError: true,
  skipLibCheck: false,
  rootDir: join(client, 'src'),
};
const formats = {
  esm: { type: 'module', options: { module: 'nodenext', moduleResolution: 'nodenext' } },
  cjs: { type: 'commonjs', options: { module: 'commonjs', moduleResolution: 'node10' } },
};

/** Writes the package into the folder. */
export function buildClient(folder) {
  rmSync(folder, { recursive: true, force: true });
  for (const [name, { type, options: own }] of Object.entries(formats)) {
    const outDir = join(folder, name);
    mkdirSync(outDir, { recursive: true });
    const config = join(folder, `${name}.json`);
    writeFileSync(config, JSON.stringify({ compilerOptions: { ...options, ...own, outDir }, files: [join(client, 'src', 'index.ts')] }));
    execFileSync(process.execPath, [compiler, '-p', config], { stdio: ['ignore', 'inherit', 'inherit'] });
    rmSync(config);
    for (const file of globSync('**/*.d.ts', { cwd: outDir })) namePublishedFiles(join(outDir, file));
    writeFileSync(join(outDir, 'package.json'), `${JSON.stringify({ type, sideEffects: false })}\n`);
  }
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest(), null, 2)}\n`);
  cpSync(join(client, 'README.md'), join(folder, 'README.md'));
}

/** The compiler renames the imports of programs and not those of declarations. */
export function namePublishedFiles(file) {
  writeFileSync(file, readFileSync(file, 'utf8').replaceAll(/((?:from|import\()\s*'\.[^']*)\.ts'/g, "$1.js'"));
}

function manifest() {
  const { name, version } = JSON.parse(readFileSync(join(client, 'package.json'), 'utf8'));
  const { license } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const entry = (format) => ({ types: `./${format}/index.d.ts`, default: `./${format}/index.js` });
  return {
    name,
    version,
    description: 'Client of the Agent Service API for Node and browsers',
    license,
    type: 'module',
    sideEffects: false,
    engines: { node: '>=20' },
    main: './cjs/index.js',
    module: './esm/index.js',
    types: './cjs/index.d.ts',
    exports: { '.': { import: entry('esm'), require: entry('cjs') }, './package.json': './package.json' },
    files: ['esm', 'cjs'],
  };
}

if (process.argv[1] && resolve(process.argv[1]) === fileURLToPath(import.meta.url)) buildClient(resolve(process.argv[2]));
