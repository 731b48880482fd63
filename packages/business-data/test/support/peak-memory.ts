/** Checks statements until their parser is compiled as far as V8 compiles it. Prints the peak of the memory of this process, in MB. */
import { createStatementGate } from '../../src/threads/statement-gate.ts';
import { scope } from './gate-catalog.ts';
import { ownPeak } from './own-peak.ts';

const gate = createStatementGate({ threads: 1 });
for (let number = 0; number < 2_000; number += 1) await gate.of('tenant').pass(`select a from t where id = ${number}`, scope);
await gate.close();
process.stdout.write(String(ownPeak()));
