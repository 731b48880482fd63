// Finds the words that this repository does not use: npm run words -- [path] [--check]
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { areaOf, findWords } from './words/find.mjs';

const help = `npm run words -- [path] [--check] [--root <checkout>]

Reads comments, texts, test titles, declared names and documents for the words of scripts/words/list.mjs. With a path it prints each finding
below it, without one a count by area. --check fails on a finding in the paths of scripts/words/clean.json: a path that is clean stays clean.`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { help: { type: 'boolean', short: 'h' }, check: { type: 'boolean' }, root: { type: 'string', default: process.cwd() } },
});
const isBelow = (path, folder) => path === folder || path.startsWith(`${folder.replace(/\/$/, '')}/`);
const print = ({ path, line, kind, word, instead }) => console.log(`${path}:${line} ${kind} "${word}" -> ${instead}`);

if (values.help) console.log(help);
else {
  const findings = findWords(values.root);
  if (values.check) check(findings);
  else if (positionals[0]) report(findings.filter(({ path }) => isBelow(path, positionals[0])));
  else count(findings);
}

function check(findings) {
  const clean = JSON.parse(readFileSync(new URL('words/clean.json', import.meta.url), 'utf8'));
  const broken = findings.filter(({ path }) => clean.some((folder) => isBelow(path, folder)));
  broken.forEach(print);
  console.log(`${broken.length} findings in ${clean.length} clean paths, ${findings.length} in all`);
  process.exitCode = broken.length > 0 ? 1 : 0;
}

function report(findings) {
  findings.forEach(print);
  console.log(`${findings.length} findings`);
}

function count(findings) {
  const areas = Map.groupBy(findings, ({ path }) => areaOf(path));
  for (const [area, found] of [...areas].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const kinds = [...Map.groupBy(found, ({ kind }) => kind)].map(([kind, list]) => `${kind}s ${list.length}`).join(', ');
    console.log(`${area.padEnd(30)} ${String(found.length).padStart(5)}  (${kinds})`);
  }
  console.log(`${'all'.padEnd(30)} ${String(findings.length).padStart(5)}`);
}
