// The long forms of suites whose short forms npm test runs: npm run test:long -- [name ...] [--times N]

import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';

/** `alone`: asserts times, so that nothing else may run beside it. `loaded`: every core is busy with other work. `named`: runs only by its name. */
const forms = {
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
    about: '10,000 deep or mixed statements',
    env: { GATE_STATEMENTS: '10000' },
    suites: ['packages/business-data/test/statement-gate.test.ts'],
  },
  cluster: {
    about: 'every whole system on a Redis Cluster of its own',
    env: { TEST_REDIS: 'cluster' },
    suites: ['services/gateway/test/system', 'services/templates'],
  },
  webhooks: {
    about: '5,000 events, and template activations between kills',
    env: { WEBHOOK_FAULT_EVENTS: '5000', TEMPLATE_FAULT_ROUNDS: '12' },
    suites: ['services/(webhooks|templates)/test/faults.test.ts'],
  },
  models: {
    about: 'the LiteLLM proxy and the server of llama.cpp, installed from PyPI',
    env: { MODEL_SERVERS: 'long' },
    suites: ['packages/models/test/servers'],
  },
  fuzz: { about: '20,000 requests', env: { FUZZ_REQUESTS: '20000' }, suites: ['services/gateway/test/system/fuzz.test.ts'] },
  ledger: {
    about: 'long random histories of the ledger and of answers',
    env: { STORE_RUNS: '200', FC_RUNS: '100', FAULT_ROUNDS: '12', PROPERTY_RUNS: '60', AGENT_HISTORIES: '12', FAULT_SECONDS: '30' },
    suites: [
      'services/credits/test/(store.property|usage.property|overspend|killed)',
      'services/agents/test/(histories|answers/interleavings|answers/killed)',
    ],
  },
  repeat: {
    about: 'the short form of every suite, again and again on a machine whose cores are all busy',
    env: {},
    suites: [],
    loaded: true,
    named: true,
  },
};

const { positionals, values } = parseArgs({ allowPositionals: true, options: { times: { type: 'string', default: '10' } } });
const times = Number(values.times);
if (!Number.isInteger(times) || times < 1) throw new Error(`--times must be a whole number from 1, not ${values.times}`);
const unknown = positionals.filter((name) => !Object.hasOwn(forms, name));
if (unknown.length > 0) throw new Error(`No long form ${unknown.join(', ')}; there are ${Object.keys(forms).join(', ')}.`);

const results = [];
for (const [name, form] of Object.entries(forms)) {
  if (positionals.length > 0 ? !positionals.includes(name) : form.named) continue;
  for (let round = 1; round <= (form.loaded ? times : 1); round += 1) {
    console.log(`\n== ${name}${form.loaded ? ` ${round} of ${times}` : ''}: ${form.about}`);
    const beganAt = performance.now();
    const code = await (form.loaded ? underLoad(() => run(form)) : run(form));
    results.push({ name, code, minutes: (performance.now() - beganAt) / 60_000 });
  }
}

console.log('\nLong forms:');
for (const { name, code, minutes } of results) console.log(`${code === 0 ? 'ok  ' : 'FAIL'} ${name.padEnd(10)} ${minutes.toFixed(1)} min`);
process.exitCode = results.every(({ code }) => code === 0) ? 0 : 1;

function run({ env, suites, alone }) {
  const jest = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning', 'node_modules/jest/bin/jest.js'];
  const options = alone ? ['--maxWorkers=1'] : [];
  const child = spawn(process.execPath, [...jest, ...options, ...suites], { stdio: 'inherit', env: { ...process.env, ...env } });
  return new Promise((resolve) => child.once('close', (code) => resolve(code ?? 1)));
}

/** Keeps one process busy for each core while the work goes on. They end with this process, whatever ends it. */
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
