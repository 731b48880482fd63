import { currentRun } from './run.ts';

/** Jest calls this once, after the last test file. */
// biome-ignore lint/style/noDefaultExport: Jest takes the default export.
export default async function globalTeardown(): Promise<void> {
  await currentRun.get()?.stop();
}
