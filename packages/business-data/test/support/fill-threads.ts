/** Fills the memory of the gate's threads repeatedly: `node fill-threads.ts ROUNDS`. Prints the outcomes of the statements. */
import { setTimeout as pause } from 'node:timers/promises';
import { createStatementGate } from '../../src/threads/statement-gate.ts';
import { scope } from './gate-catalog.ts';

const rounds = Number(process.argv[2]);
const counts: Record<string, number> = {};
const count = (name: string) => void (counts[name] = (counts[name] ?? 0) + 1);
const gate = createStatementGate({
  limitMs: 20_000,
  waitMs: 60_000,
  entry: new URL('./hostile-gate-thread.ts', import.meta.url),
  listener: { onThreads: () => undefined, onLost: count, onDone: () => undefined },
});
const faults = ['allocate numbers', 'allocate huge arrays', 'allocate a map', 'allocate trees'];
for (let round = 0; round < rounds; round += 1) {
  for (const fault of faults) {
    const [attack] = await Promise.allSettled([gate.of(`attacker ${round} ${fault}`).pass(fault, scope)]);
    count(attack.status);
    await gate.of('honest').pass('select a from t', scope);
    count('honest');
  }
}
// The process must end by itself although threads are full.
for (const fault of faults)
  gate
    .of(fault)
    .pass(fault, scope)
    .catch(() => undefined);
await pause(300);
await gate.close();
process.stdout.write(`${JSON.stringify(counts)}\n`);
