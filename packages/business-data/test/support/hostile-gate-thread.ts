import { passGates } from '../../src/gates/pass-gates.ts';
import { serveStatements } from '../../src/threads/thread-server.ts';

/** Effects that a fault of the parser or of the gates could have on a thread. */
const faults: Readonly<Record<string, () => void>> = {
  loop() {
    for (;;);
  },
  /** As long as `loop`, and leaves the processor to the other suites. */
  sleep() {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  },
  'allocate numbers'() {
    for (const values: number[][] = []; ; ) values.push(Array.from({ length: 1_000 }, (_, index) => index + 0.5));
  },
  'allocate huge arrays'() {
    for (const values: unknown[] = []; ; ) values.push(new Array(30_000_000).fill(0.5));
  },
  'allocate a map'() {
    for (const values = new Map<number, object>(); ; ) values.set(values.size, {});
  },
  'allocate trees'() {
    const text = `[${'{"a":{"b":[1,2,{"c":"d"}]}},'.repeat(500_000)}1]`;
    for (const values: unknown[] = []; ; ) values.push(JSON.parse(text));
  },
  trap() {
    throw new RangeError('Maximum call stack size exceeded');
  },
  exit() {
    process.exit(3);
  },
};

/** The thread of the gate; the text `slow 50` takes 50 ms of processor time, and the name of a fault causes it. */
serveStatements((text, scope) => {
  faults[text]?.();
  const [, slowMs] = /^slow (\d+)$/.exec(text) ?? [];
  if (slowMs === undefined) return passGates(text, scope);
  for (const end = cpuMs() + Number(slowMs); cpuMs() < end; );
  return passGates('select a from t', scope);
});

function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
