export { randomFrom } from '@agent-service/local/demonstration/values';

/** The seed of a run, printed: the one given as TEST_SEED, or `usual`, by default a new one each time. */
export function runSeed(name: string, usual = Date.now() % 1_000_000_007): number {
  const seed = Number(process.env['TEST_SEED'] || usual);
  process.stdout.write(`${name}: TEST_SEED=${seed}\n`);
  return seed;
}
