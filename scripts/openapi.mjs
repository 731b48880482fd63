// Checks the OpenAPI document of the sources.
//   node scripts/openapi.mjs            prints what would break a client of the last release (oasdiff, released/openapi.json)
//   node scripts/openapi.mjs --rules    also what the rules of redocly and spectral find; both come from npm, at versions named here
//   node scripts/openapi.mjs --write    records the document, when a release is made
//   node scripts/openapi.mjs --out FILE writes the whole document

import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { createOpenApi } from '../services/gateway/src/openapi/document.ts';
import { everyRoute } from '../services/gateway/src/routes/index.ts';

const options = { check: { type: 'boolean' }, rules: { type: 'boolean' }, write: { type: 'boolean' }, out: { type: 'string' } };
const { values } = parseArgs({ options });
const released = 'released/openapi.json';
const folder = '.cache/openapi';
const current = `${folder}/openapi.json`;

/** Programs that are no dependencies, because a clone needs 80 MB less without them. */
const redocly = '@redocly/cli@2.77.0';
const spectral = '@stoplight/spectral-cli@6.16.3';

const document = JSON.parse(JSON.stringify(createOpenApi(everyRoute, '/')));

/** The parts of the document that a client relies on: no texts, examples or samples, whose changes break nothing. */
function contractOf(value) {
  if (Array.isArray(value)) return value.map(contractOf);
  if (value === null || typeof value !== 'object') return value;
  const isText = (name, field) =>
    (['description', 'summary'].includes(name) && typeof field === 'string') ||
    ['example', 'x-codeSamples'].includes(name) ||
    (name === 'examples' && !Array.isArray(field));
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name, field]) => !isText(name, field))
      .map(([name, field]) => [name, contractOf(field)]),
  );
}

mkdirSync(folder, { recursive: true });
writeFileSync(current, JSON.stringify(document, null, 1));
if (values.out) writeFileSync(values.out, JSON.stringify(document));
else if (values.write) writeFileSync(released, `${JSON.stringify(contractOf(document), null, 1)}\n`);
else {
  const findings = [...compare(), ...(values.rules ? lint() : [])];
  for (const finding of findings) console.log(finding);
  process.exitCode = findings.length > 0 ? 1 : 0;
}

/**
 * Writes schemas so that oasdiff compares what they mean. The pattern of a time is left out, because it says no more than the format. A union of
 * texts becomes one enumeration, and a union of an object with null a type that allows both. Variants of a union of objects are titled by the
 * schemas that they refer to: oasdiff compares those of one title field by field, and takes any difference, also a permitted one, between others
 * for a removed and an added variant.
 */
function comparable(node, schemas) {
  if (Array.isArray(node)) return node.map((part) => comparable(part, schemas));
  if (node === null || typeof node !== 'object') return node;
  const own = Object.fromEntries(Object.entries(node).map(([name, part]) => [name, comparable(part, schemas)]));
  if (own.format === 'date-time' || own.format === 'date') delete own.pattern;
  if (!Array.isArray(own.anyOf)) return own;
  const { anyOf, ...rest } = own;
  if (anyOf.every((variant) => variant.type === 'string' && valuesOf(variant)))
    return { ...rest, type: 'string', enum: anyOf.flatMap(valuesOf) };
  const variants = anyOf.map((variant) => ({ name: nameOf(variant), schema: schemas[nameOf(variant)] ?? variant }));
  const [first, ...others] = variants.map(({ schema }) => schema).filter(({ type }) => type !== 'null');
  if (others.length === 0 && first.type === 'object') return { ...comparable(first, schemas), ...rest, type: ['object', 'null'] };
  if (variants.some(({ schema }) => schema.type !== 'object')) return own;
  return { ...own, anyOf: variants.map(({ name, schema }) => ({ title: referencesIn(schema) || name, ...schema })) };
}

function valuesOf({ enum: values, const: value }) {
  return values ?? (value === undefined ? undefined : [value]);
}

function nameOf({ $ref }) {
  return $ref?.split('/').at(-1) ?? 'variant';
}

function referencesIn(schema) {
  return [...JSON.stringify(schema).matchAll(/schemas\/(\w+)/g)].map(([, name]) => name).join(' ');
}

function compare() {
  const [last, contract] = [`${folder}/last.json`, `${folder}/contract.json`];
  const contracts = { [last]: JSON.parse(readFileSync(released, 'utf8')), [contract]: contractOf(document) };
  for (const [file, whole] of Object.entries(contracts))
    writeFileSync(file, JSON.stringify(comparable(whole, whole.components.schemas), null, 1));
  const result = spawnSync('oasdiff', ['breaking', last, contract, '--fail-on', 'WARN'], { encoding: 'utf8' });
  if (result.error?.code === 'ENOENT') {
    console.log('oasdiff is not installed, so the document was not compared: go install github.com/oasdiff/oasdiff@v1.35.0');
    // CI installs it and says so by asking for the rules.
    return values.rules ? ['oasdiff is needed'] : [];
  }
  return result.status === 0 ? [] : [`${result.stdout}${result.stderr}`];
}

function lint() {
  const npx = (...words) => spawnSync('npx', ['--yes', ...words], { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });
  const results = [
    npx(redocly, 'lint', '--config', 'scripts/openapi/redocly.yaml', current),
    npx(spectral, 'lint', '--ruleset', 'scripts/openapi/spectral.yaml', '--fail-severity', 'hint', current),
  ];
  return results.filter(({ status }) => status !== 0).map(({ stdout, stderr }) => `${stdout}${stderr}`);
}
