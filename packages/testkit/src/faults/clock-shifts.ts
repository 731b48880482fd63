import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { testFolder } from '../infrastructure/run-folder.ts';

interface Signalled {
  kill(signal: NodeJS.Signals): void;
}

/** Lets a test set the time of day of single processes of a system. */
export interface ClockShifts {
  /** Settings to start the processes with. */
  readonly settings: { readonly NODE_OPTIONS: string };
  /** Settings for a process whose own clock is this much ahead when it starts. */
  settingsAhead(aheadMs: number): { readonly NODE_OPTIONS: string };
  /** From a moment later on the process's own clock is this much ahead; 0 sets it right. So are those of processes that start from then on. */
  shift(process: Signalled, aheadMs: number): void;
}

export async function clockShifts(): Promise<ClockShifts> {
  const file = join(await testFolder(), 'clock-shift');
  const preload = new URL('shift-clock.ts', import.meta.url);
  preload.searchParams.set('file', file);
  return {
    settings: { NODE_OPTIONS: `--import ${preload.href}` },
    settingsAhead: (aheadMs) => ({ NODE_OPTIONS: `--import ${preload.href}&ahead=${aheadMs}` }),
    shift(process, aheadMs) {
      // A process that was signalled a moment ago must not read a file that is empty for an instant.
      writeFileSync(`${file}.new`, String(aheadMs));
      renameSync(`${file}.new`, file);
      process.kill('SIGUSR2');
    },
  };
}
