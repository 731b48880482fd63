import { mapLibraries } from './scripts/build/test-libraries.mjs';

export default {
  testEnvironment: '<rootDir>/packages/testkit/test-environment.cjs',
  testMatch: ['<rootDir>/{packages,services}/*/{src,test}/**/*.test.ts', '<rootDir>/test/**/*.test.ts', '<rootDir>/scripts/**/*.test.mjs'],
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '\\.ts$': '<rootDir>/packages/testkit/strip-transform.cjs' },
  moduleNameMapper: await mapLibraries(),
  modulePathIgnorePatterns: ['<rootDir>/\\.data', '<rootDir>/\\.cache'],
  // They need a browser: npm run test:long -- portal.
  testPathIgnorePatterns: ['/node_modules/', ...(process.env.PORTAL_PAGES === 'long' ? [] : ['<rootDir>/services/portal/test/pages'])],
  globalSetup: '<rootDir>/packages/testkit/src/infrastructure/global-setup.ts',
  globalTeardown: '<rootDir>/packages/testkit/src/infrastructure/global-teardown.ts',
  testSequencer: '<rootDir>/packages/testkit/sequencer.cjs',
  // Four on two cores: a suite that waits for a lease or a restart leaves its core to others.
  maxWorkers: 4,
  // A worker that is replaced has to load its modules again, which takes a second. npm test runs without V8's compilation cache, which would keep the
  // modules of every file.
  workerIdleMemoryLimit: '768MB',
  // Whole systems start in hooks: on a busy machine of two cores that takes a while.
  testTimeout: 90_000,
};
