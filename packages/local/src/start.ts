import { environment } from './host/environment.ts';
import { seed } from './seed.ts';
import { runUntilSignal } from './system/run-until-signal.ts';

/** `npm start`: the whole system on this machine. */
await runUntilSignal({ env: environment, seed });
