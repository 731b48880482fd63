export { randomFrom } from '@agent-service/local/demonstration/values';

/** The seed of a run: a new one each time, printed, or the one given again as TEST_SEED. */
export function runSeed(name: string): number {
  const seed = Number(process.env['TEST_SEED'] ?? Date.now() % 1_000_000_007);
  process.stdout.write(`${name}: TEST_SEED=${seed}\n`);
  return seed;
}
