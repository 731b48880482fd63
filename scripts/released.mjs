// Compares protos, job payloads and migrations with those of the last release, in released/: processes of both work together during an upgrade.
//   node scripts/released.mjs             prints what would break one of them
//   node scripts/released.mjs --write     records the present state, when a release is made

import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { jobKind, jobNames } from '../packages/queues/src/jobs/catalogue.ts';
import { checkJobs } from './released/jobs.mjs';
import { checkMigrations, fingerprintOf } from './released/migrations.mjs';

const { values } = parseArgs({ options: { write: { type: 'boolean' }, check: { type: 'boolean' } } });
const image = 'released/protos.binpb';
const buf = (...args) => spawnSync('node_modules/.bin/buf', args, { encoding: 'utf8' });

const jobs = Object.fromEntries(
  jobNames.map((name) => [name, { queue: jobKind(name).queue, payload: z.toJSONSchema(jobKind(name).payload) }]),
);
const schemas = readdirSync('services').filter((name) => existsSync(`services/${name}/src/migrate.ts`));
const migrations = Object.fromEntries(
  await Promise.all(schemas.map(async (name) => [name, (await import(`../services/${name}/src/store/migrations/index.ts`)).migrations])),
);

if (values.write) write();
else report();

function write() {
  const { status, stderr } = buf('build', 'proto', '--exclude-source-info', '-o', image);
  if (status !== 0) throw new Error(stderr);
  writeJson('released/jobs.json', jobs);
  const fingerprints = (steps) => Object.fromEntries(steps.map((step) => [step.name, fingerprintOf(step)]));
  writeJson('released/migrations.json', Object.fromEntries(Object.entries(migrations).map(([name, steps]) => [name, fingerprints(steps)])));
}

function report() {
  const { status, stdout, stderr } = buf('breaking', 'proto', '--against', image);
  const released = readJson('released/migrations.json');
  const findings = [
    ...(status === 0 ? [] : `${stdout}${stderr}`.trim().split('\n')),
    ...checkJobs(jobs, readJson('released/jobs.json')),
    ...Object.entries(migrations).flatMap(([name, steps]) => checkMigrations(name, steps, released[name] ?? {})),
  ];
  for (const finding of findings) console.log(finding);
  process.exitCode = findings.length > 0 ? 1 : 0;
}

function readJson(file) {
  return JSON.parse(readFileSync(file, 'utf8'));
}

function writeJson(file, value) {
  writeFileSync(file, `${JSON.stringify(value, null, 2)}\n`);
}
