process.env['TEST_REDIS'] = 'cluster';

// The same suite, on three primaries with a replica each. TEST_REDIS=cluster in the environment does the same for all suites of whole systems.
await import('./answers.test.ts');
