import { runUntilSignal } from '../src/system/run-until-signal.ts';
import { fakeCatalogue } from './fake-catalogue.ts';

await runUntilSignal({ env: process.env, catalogue: fakeCatalogue });
