// Builds the package of the Testcontainers module for the projects of other teams: node scripts/build/testcontainers.mjs FOLDER
// ESM with its types, and those of the scripted model beside them; programs take nothing else from that package.

import { execFileSync } from 'node:child_process';
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { compiler, namePublishedFiles } from './client.mjs';

const root = resolve(fileURLToPath(import.meta.url), '../../..');
const packages = join(root, 'packages');

const options = {
  strict: true,
  exactOptionalPropertyTypes: true,
  target: 'es2023',
  lib: ['es2024', 'esnext.disposable'],
  module: 'nodenext',
  types: ['node'],
  typeRoots: [join(root, 'node_modules', '@types')],
  declaration: true,
  rewriteRelativeImportExtensions: true,
  noEmitOnError: true,
  skipLibCheck: true,
  rootDir: packages,
};

/** Writes the package into the folder. */
export function buildTestcontainers(folder) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const config = join(folder, 'tsconfig.json');
  const files = ['testcontainers', 'scripted-model'].map((name) => join(packages, name, 'src', 'index.ts'));
  writeFileSync(config, JSON.stringify({ compilerOptions: { ...options, outDir: folder }, files }));
  execFileSync(process.execPath, [compiler, '-p', config], { stdio: ['ignore', 'inherit', 'inherit'] });
  rmSync(config);
  for (const file of globSync('scripted-model/**/*.js', { cwd: folder })) rmSync(join(folder, file));
  for (const file of globSync('**/*.d.ts', { cwd: folder })) {
    const path = join(folder, file);
    namePublishedFiles(path);
    writeFileSync(path, readFileSync(path, 'utf8').replaceAll("'@agent-service/scripted-model'", "'../../scripted-model/src/index.js'"));
  }
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest(), null, 2)}\n`);
}

function manifest() {
  const { name, version, dependencies } = JSON.parse(readFileSync(join(packages, 'testcontainers', 'package.json'), 'utf8'));
  const { license } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const { '@agent-service/scripted-model': _types, ...installed } = dependencies;
  const entry = './testcontainers/src/index';
  return {
    name,
    version,
    description: 'The whole Agent Service in one container, for integration tests',
    license,
    type: 'module',
    sideEffects: false,
    engines: { node: '>=20' },
    exports: { '.': { types: `${entry}.d.ts`, default: `${entry}.js` }, './package.json': './package.json' },
    files: ['testcontainers', 'scripted-model'],
    dependencies: installed,
  };
}

if (process.argv[1] && resolve(process.argv[1]) === fileURLToPath(import.meta.url)) buildTestcontainers(resolve(process.argv[2]));
