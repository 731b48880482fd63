import { environment } from './environment.ts';
import { runUntilSignal } from './run-until-signal.ts';
import { seed } from './seed.ts';

/** `npm start`: the whole system on this machine. */
await runUntilSignal({ env: environment, seed });
