import { constants } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { readJson } from '../files.ts';

const mark = z.object({ pid: z.int(), startTime: z.string() });
const signals = Object.keys(constants.signals) as [NodeJS.Signals, ...NodeJS.Signals[]];

const schema = z.object({
  supervisor: mark,
  processes: z.record(z.string(), mark.extend({ stopSignal: z.enum(signals) })),
});

/** What a supervisor writes down about itself and its processes, for whoever comes after its sudden death. */
export type Notes = Readonly<z.output<typeof schema>>;

export const notesFile = (folder: string) => join(folder, 'supervisor.json');

const remedy = 'Make sure that no process of an earlier start still runs, remove this file, and try again.';

export function readNotes(file: string): Notes | undefined {
  return readJson(file, schema, remedy);
}
