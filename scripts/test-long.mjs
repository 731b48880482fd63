// The long forms of suites, and the suites of faults that npm test leaves out: npm run test:long -- [name ...] [--times N] [--again] [--lanes N]
// With --again a form that failed runs once more at the end, with nothing beside it, and counts as passed if it passes then.
// With --lanes so many forms run beside each other, in the order in which they are named. Each runs one suite at a time, and its lines begin with its name.

import { spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { faultSuites } from './fault-suites.mjs';

/** Jest with the options of Node that npm test has. */
const jest = JSON.parse(readFileSync('package.json', 'utf8'))
  .scripts.test.replace(/^exec node /, '')
  .split(' ');

const browser = process.env.CHROMIUM_PATH ? {} : { chromium: 'chromium' };

/**
 * `program`: a program instead of suites of Jest. `alone`: asserts times, so that nothing else may run beside it.
 * `single`: its suites run one at a time. `loaded`: every core is busy with other work. `named`: runs only by its name.
 */
const forms = {
  'short-faults': {
    about: 'the short forms of the suites whose processes are killed, frozen, overloaded or given a wrong clock',
    env: {},
    suites: faultSuites,
  },
  faults: {
    about:
      'each process killed, each store away, clocks wrong, replicas frozen for as long as is promised, and the figures that are promised',
    env: { FAULTS: 'long' },
    suites: ['services/gateway/test/faults'],
    alone: true,
  },
  blast: { about: 'each misbehaviour for 14 s', env: { BLAST: 'long' }, suites: ['test/blast'], alone: true },
  attack: {
    about: '100,000 generated statements',
    env: { ATTACK_STATEMENTS: '100000' },
    suites: ['packages/business-data/test/attack.test.ts'],
  },
  gate: {
    about:
      '10,000 deep or mixed statements, each name of PostgreSQL in every spelling, and to the analyst 4,000 questions of any text and its evaluation in all wordings',
    env: { GATE_STATEMENTS: '10000', BINDER_EVERY_SPELLING: '1', ANALYST_QUESTIONS: '4000', ANALYST_EVERY_WORDING: '1' },
    suites: ['packages/business-data/test/(statement-gate|binder).test.ts', 'packages/analyst/test/(any-text|evaluation).test.ts'],
  },
  cluster: {
    about: 'every whole system on a Redis Cluster of its own',
    env: { TEST_REDIS: 'cluster' },
    suites: ['services/gateway/test/system', 'services/templates'],
  },
  pooler: {
    about: 'every whole system behind PgBouncer in transaction mode (the Debian package pgbouncer)',
    env: { TEST_POOLER: 'pgbouncer', TEST_INFRASTRUCTURE: 'embedded' },
    suites: ['services/gateway/test/system', 'services/templates'],
    needs: { pgbouncer: 'pgbouncer' },
  },
  databases: {
    about: 'a synchronous standby is promoted and sentinels fail over, at 20 messages a second',
    env: { DATABASES: 'long' },
    suites: ['services/gateway/test/databases', 'packages/store/test/replication'],
    alone: true,
  },
  upgrade: {
    about:
      'every process is upgraded from the last release (UPGRADE_FROM: another commit) and back, with both beside each other, at 20 messages a second',
    env: { UPGRADE: 'long' },
    suites: ['services/gateway/test/upgrade'],
    alone: true,
  },
  webhooks: {
    about: '5,000 events, and template activations between kills',
    env: { WEBHOOK_FAULT_EVENTS: '5000', TEMPLATE_FAULT_ROUNDS: '12' },
    suites: ['services/(webhooks|templates)/test/faults.test.ts'],
  },
  documents: {
    about:
      'the commands of every guide, against a running system, and those that need Docker, a cluster (DOCUMENTS_CLUSTER, DOCUMENTS_REGISTRY) or the programs of PostgreSQL where they are; and the site, whose builder is installed from the registry',
    env: { DOCUMENTS: 'long' },
    suites: ['scripts/docs/(shell|site|starts).test.mjs'],
  },
  newcomer: {
    about:
      'the README in a fresh clone: npm start, the first call with its output, and an answer over own data; with the packages that are installed here',
    env: {},
    program: ['scripts/newcomer.mjs', '--installed'],
  },
  image: {
    about: 'the image, built by a Docker engine with the classic builder and with BuildKit (BUILD_NETWORK=host where builds need it)',
    env: { IMAGE: 'long' },
    suites: ['scripts/build/image.test.mjs'],
    named: true,
  },
  examples: {
    about: 'the examples in three languages, and a page of Next.js that is installed from the registry',
    env: { EXAMPLES: 'long' },
    suites: ['test/examples'],
  },
  models: {
    about: 'the LiteLLM proxy and the server of llama.cpp, installed from PyPI',
    env: { MODEL_SERVERS: 'long' },
    suites: ['packages/models/test/servers'],
  },
  fuzz: { about: '20,000 requests', env: { FUZZ_REQUESTS: '20000' }, suites: ['services/gateway/test/system/fuzz.test.ts'] },
  portal: {
    about: 'the pages of the portal in Chromium, which is installed where it is missing (or CHROMIUM_PATH)',
    env: { PORTAL_PAGES: 'long' },
    suites: ['services/portal/test/pages'],
    needs: browser,
    single: true,
  },
  screenshots: {
    about: 'pictures of every page of the portal in docs/portal, made again',
    env: { PORTAL_PAGES: 'long', SCREENSHOTS: 'write' },
    suites: ['services/portal/test/pages/screenshots.test.ts'],
    needs: browser,
    named: true,
  },
  ledger: {
    about: 'long random histories of the ledger and of answers',
    env: {
      STORE_RUNS: '200',
      FC_RUNS: '100',
      FAULT_ROUNDS: '12',
      PROPERTY_RUNS: '60',
      AGENT_HISTORIES: '12',
      FAULT_SECONDS: '30',
      BACKLOG_ANSWERS: '50000',
    },
    suites: [
      'services/credits/test/(store.property|usage.property|overspend|killed)',
      'services/agents/test/(histories|answers/interleavings|answers/killed|answers/backlog)',
    ],
  },
  python: {
    about: 'the Python client with its examples, types and style; its tools come from PyPI',
    env: { PYTHON_CLIENT: 'long' },
    suites: ['packages/client/test/python.test.ts'],
  },
  samples: {
    about: 'the code samples of the reference page in curl, TypeScript and Python, each a program that is run',
    env: { SAMPLES: 'long' },
    suites: ['services/gateway/test/system/samples.test.ts'],
  },
  schemathesis: {
    about: '20,000 requests that schemathesis makes from the OpenAPI document with all of its checks; it comes from PyPI',
    env: { SCHEMATHESIS: 'long', SCHEMATHESIS_REQUESTS: process.env.SCHEMATHESIS_REQUESTS ?? '20000' },
    suites: ['services/gateway/test/system/schemathesis.test.ts'],
  },
  repeat: {
    about: 'the short form of every suite, again and again on a machine whose cores are all busy',
    env: { SHORT_FAULTS: 'run' },
    suites: [],
    loaded: true,
    named: true,
  },
};

const options = {
  times: { type: 'string', default: '10' },
  again: { type: 'boolean', default: false },
  lanes: { type: 'string', default: '1' },
};
const { positionals, values } = parseArgs({ allowPositionals: true, options });
const readCount = (name) => {
  const count = Number(values[name]);
  if (Number.isInteger(count) && count >= 1) return count;
  throw new Error(`--${name} must be a whole number from 1, not ${values[name]}`);
};
const [times, lanes] = [readCount('times'), readCount('lanes')];
const unknown = positionals.filter((name) => !Object.hasOwn(forms, name));
if (unknown.length > 0) throw new Error(`No long form ${unknown.join(', ')}; there are ${Object.keys(forms).join(', ')}.`);

/** For tests that name no limit of their own: the usual one is that of the short forms. */
const testLimitMs = 30 * 60_000;

const names = positionals.length > 0 ? [...new Set(positionals)] : Object.keys(forms).filter((name) => !forms[name].named);
const alone = names.filter((name) => lanes > 1 && (forms[name].alone || forms[name].loaded));
const waiting = names.filter((name) => !alone.includes(name));
const results = [];
await Promise.all(Array.from({ length: lanes }, () => runAll(waiting)));
await runAll(alone);
const failed = values.again ? results.filter(({ code }) => code !== 0) : [];
for (const result of failed) {
  console.log(`UNSTABLE: ${result.name} failed and runs once more, with nothing beside it`);
  result.code = await run(result.name);
}

console.log('\nLong forms:');
for (const { name, code, minutes } of results) console.log(`${code === 0 ? 'ok  ' : 'FAIL'} ${name.padEnd(12)} ${minutes.toFixed(1)} min`);
process.exitCode = results.every(({ code }) => code === 0) ? 0 : 1;

async function runAll(waiting) {
  for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
    const { about, loaded } = forms[name];
    for (let round = 1; round <= (loaded ? times : 1); round += 1) {
      console.log(`\n== ${name}${loaded ? ` ${round} of ${times}` : ''}: ${about}`);
      const beganAt = performance.now();
      const code = await (loaded ? underLoad(() => run(name)) : run(name));
      results.push({ name, code, minutes: (performance.now() - beganAt) / 60_000 });
    }
  }
}

async function run(name) {
  const { env, program, suites, alone, single, needs = {} } = forms[name];
  for (const [command, debianPackage] of Object.entries(needs)) install(command, debianPackage);
  const workers = alone || single || lanes > 1 ? ['--maxWorkers=1'] : [];
  const words = program ?? [...jest, `--testTimeout=${testLimitMs}`, ...workers, ...suites];
  const stdio = lanes > 1 ? ['ignore', 'pipe', 'pipe'] : 'inherit';
  const child = spawn(process.execPath, words, { stdio, env: { ...process.env, ...env } });
  for (const stream of ['stdout', 'stderr'])
    if (lanes > 1) createInterface({ input: child[stream] }).on('line', (line) => process[stream].write(`${name}: ${line}\n`));
  return await new Promise((resolve) => child.once('close', (code) => resolve(code ?? 1)));
}

/** Installs the Debian package of a command that is missing, which only root can do. */
function install(command, name) {
  const path = `${process.env.PATH}:/usr/sbin`;
  if (spawnSync('sh', ['-c', `command -v ${command}`], { env: { PATH: path } }).status === 0) return;
  console.log(`installing the Debian package ${name}`);
  const options = { stdio: ['ignore', 'ignore', 'inherit'], env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } };
  const apt = (...args) => spawnSync('apt-get', args, options).status === 0;
  if (!apt('update', '-qq') || !apt('install', '-y', '-qq', '--no-install-recommends', name))
    throw new Error(`${command} is missing and could not be installed: install the package ${name}`);
}

/** Keeps one process busy for each core while the work goes on. They end with this process, also if it is killed. */
async function underLoad(work) {
  const busy =
    "process.stdin.once('end', () => process.exit()).resume(); const spin = () => { for (const end = performance.now() + 20; performance.now() < end; ); setImmediate(spin); }; spin();";
  const loads = Array.from({ length: availableParallelism() }, () =>
    spawn(process.execPath, ['-e', busy], { stdio: ['pipe', 'ignore', 'inherit'] }),
  );
  try {
    return await work();
  } finally {
    for (const load of loads) load.kill();
  }
}
