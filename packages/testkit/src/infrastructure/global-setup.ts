import { currentRun, startRun } from './run.ts';

/** Jest calls this once, before the first test file. */
// biome-ignore lint/style/noDefaultExport: Jest takes the default export.
export default async function globalSetup(): Promise<void> {
  const run = await startRun();
  currentRun.set(run);
  // Jest ends at once on a signal and then calls no teardown.
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const) {
    process.once(signal, () => void run.stop().finally(() => process.exit(code)));
  }
}
