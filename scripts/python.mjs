// Writes the generated part of the Python client from the OpenAPI document of the sources. Its tools come from PyPI, into .cache/python/client.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

const folder = '.cache/python/client';
const project = readFileSync('clients/python/pyproject.toml', 'utf8');
const tools = [...project.matchAll(/^(?:dependencies|dev) = (\[.*\])$/gm)].flatMap(([, list]) => JSON.parse(list));

run('python3', '-m', 'venv', folder);
run(`${folder}/bin/pip`, 'install', '--quiet', '--disable-pip-version-check', ...tools);
// The Node of the repository, which reads TypeScript: another Node may run this script.
run('node_modules/.bin/node', 'scripts/openapi.mjs', '--out', '.cache/openapi.json');
run(`${folder}/bin/python`, '-W', 'ignore', 'clients/python/generate.py', '.cache/openapi.json');

function run(command, ...words) {
  const { status, error } = spawnSync(command, words, { stdio: 'inherit' });
  if (status !== 0) throw error ?? new Error(`${command} ended with ${status}`);
}
