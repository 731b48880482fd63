process.env['TEST_REDIS'] = 'cluster';

// The same suite, on three primaries with a replica each; with TEST_REDIS=cluster from outside every other suite of whole systems as well.
await import('./answers.test.ts');
