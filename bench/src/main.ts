import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { fileURLToPath } from 'node:url';
import { cleanUp } from './cleanup.ts';
import { isKept, type Outcome, type Promised } from './scenario.ts';
import { scenarios } from './scenarios/index.ts';

const results = fileURLToPath(new URL('../results/', import.meta.url));
const names = process.argv.slice(2);
const unknown = names.filter((name) => !scenarios.some((scenario) => scenario.name === name));
if (unknown.length > 0) {
  console.error(`No scenario is called ${unknown.join(', ')}. There are: ${scenarios.map(({ name }) => name).join(', ')}.`);
  process.exit(2);
}

function lineOf({ name, measured, atLeast, atMost }: Promised): string {
  const bound = atLeast === undefined ? `at most ${atMost}` : `at least ${atLeast}`;
  return `  ${isKept({ name, measured, ...(atLeast !== undefined && { atLeast }), ...(atMost !== undefined && { atMost }) }) ? 'kept  ' : 'MISSED'} ${name}: ${measured.toFixed(2)} (${bound})`;
}

for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 129],
] as const) {
  process.once(signal, () => void cleanUp().finally(() => process.exit(code)));
}

mkdirSync(results, { recursive: true });
let missed = 0;
for (const scenario of scenarios) {
  if (names.length > 0 && !names.includes(scenario.name)) continue;
  console.log(`${scenario.name}: ${scenario.about}`);
  const outcome: Outcome = await scenario.run((line) => console.log(`  ${line}`)).finally(cleanUp);
  for (const promise of outcome.promises) console.log(lineOf(promise));
  missed += outcome.promises.filter((promise) => !isKept(promise)).length;
  const machine = { node: process.version, processors: cpus().length, model: cpus()[0]?.model };
  const file = `${results}${scenario.name}.json`;
  writeFileSync(file, `${JSON.stringify({ scenario: scenario.name, at: new Date().toISOString(), machine, ...outcome }, null, 2)}\n`);
  console.log(`  stored in ${file}`);
}
process.exitCode = missed > 0 ? 1 : 0;
