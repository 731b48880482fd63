// fast-check as Jest gives it to suites: every run checks the same examples, those of one seed. TEST_SEED gives other ones.
import { configureGlobal } from 'fast-check';

const { TEST_SEED: text } = process.env;
const seed = Number(text || 20_260_115);
if (!Number.isSafeInteger(seed)) throw new Error(`TEST_SEED must be an integer, not "${text}"`);
configureGlobal({ seed });

export * from 'fast-check';
export { default } from 'fast-check';
