import { passGates } from '../../src/gates/pass-gates.ts';
import { serveGate } from '../../src/threads/serve-gate.ts';

/** What a fault of the parser, or of the gates, could do to a thread. */
const faults: Readonly<Record<string, () => void>> = {
  loop() {
    for (;;);
  },
  'allocate numbers'() {
    for (const kept: number[][] = []; ; ) kept.push(Array.from({ length: 1_000 }, (_, index) => index + 0.5));
  },
  'allocate huge arrays'() {
    for (const kept: unknown[] = []; ; ) kept.push(new Array(30_000_000).fill(0.5));
  },
  'allocate a map'() {
    for (const kept = new Map<number, object>(); ; ) kept.set(kept.size, {});
  },
  'allocate trees'() {
    const text = `[${'{"a":{"b":[1,2,{"c":"d"}]}},'.repeat(500_000)}1]`;
    for (const kept: unknown[] = []; ; ) kept.push(JSON.parse(text));
  },
  trap() {
    throw new RangeError('Maximum call stack size exceeded');
  },
  exit() {
    process.exit(3);
  },
};

/** The thread of the gate; the text `slow 50` takes 50 ms of processor time, and the name of a fault has it. */
serveGate((text, scope) => {
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
