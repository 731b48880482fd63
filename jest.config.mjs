export default {
  testEnvironment: 'node',
  testMatch: ['<rootDir>/{packages,services}/*/{src,test}/**/*.test.ts', '<rootDir>/test/**/*.test.ts', '<rootDir>/scripts/**/*.test.mjs'],
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '\\.ts$': '<rootDir>/packages/testkit/strip-transform.cjs' },
  modulePathIgnorePatterns: ['<rootDir>/\\.data', '<rootDir>/\\.cache'],
  globalSetup: '<rootDir>/packages/testkit/src/infrastructure/global-setup.ts',
  globalTeardown: '<rootDir>/packages/testkit/src/infrastructure/global-teardown.ts',
  testSequencer: '<rootDir>/packages/testkit/sequencer.cjs',
  // Whole systems run beside the suites: more workers than this starve them on a machine of two cores.
  maxWorkers: 2,
  // Jest keeps the modules of every file it has run; a worker is started anew before that hurts.
  workerIdleMemoryLimit: '512MB',
  // Whole systems start in hooks: on a busy machine of two cores that takes a while.
  testTimeout: 90_000,
};
