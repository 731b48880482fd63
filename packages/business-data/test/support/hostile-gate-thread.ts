import { serveGate } from '../../src/gate/serve-gate.ts';
import { passGates } from '../../src/sql/gates.ts';

/** The thread of the gate, with statements that do to it what a fault of the parser could do. */
serveGate((text, scope) => {
  if (text === 'loop') for (;;);
  if (text === 'eat') for (const hoard: number[][] = []; ; ) hoard.push(Array.from({ length: 1_000 }, (_, index) => index + 0.5));
  if (text === 'trap') throw new RangeError('Maximum call stack size exceeded');
  if (text === 'exit') process.exit(3);
  return passGates(text, scope);
});
