import { mapLibraries } from './scripts/build/test-libraries.mjs';
import { faultSuites } from './scripts/fault-suites.mjs';

/** The suites of faults run where SHORT_FAULTS=run, or where a path is named: npm test -- test/blast */
const runsFaults = process.env.SHORT_FAULTS === 'run' || process.argv.slice(2).some((word) => /^[^-].*\//.test(word));
/** They need a browser: npm run test:long -- portal */
const runsPages = process.env.PORTAL_PAGES === 'long';

export default {
  testEnvironment: '<rootDir>/packages/testkit/test-environment.cjs',
  testMatch: ['<rootDir>/{packages,services}/*/{src,test}/**/*.test.ts', '<rootDir>/test/**/*.test.ts', '<rootDir>/scripts/**/*.test.mjs'],
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '\\.ts$': '<rootDir>/packages/testkit/strip-transform.cjs' },
  moduleNameMapper: await mapLibraries(),
  modulePathIgnorePatterns: ['<rootDir>/\\.data', '<rootDir>/\\.cache'],
  testPathIgnorePatterns: [
    '/node_modules/',
    ...(runsPages ? [] : ['<rootDir>/services/portal/test/pages']),
    ...(runsFaults ? [] : faultSuites.map((suites) => `<rootDir>/${suites}`)),
  ],
  globalSetup: '<rootDir>/packages/testkit/src/infrastructure/global-setup.ts',
  globalTeardown: '<rootDir>/packages/testkit/src/infrastructure/global-teardown.ts',
  testSequencer: '<rootDir>/packages/testkit/sequencer.cjs',
  // Five on two cores: a suite that waits for a lease or a restart leaves its core to others.
  maxWorkers: 5,
  // A worker that is replaced has to load its modules again, which takes a second. npm test runs without V8's compilation cache, which would keep the
  // modules of every file.
  workerIdleMemoryLimit: '768MB',
  // Whole systems start in hooks: on a busy machine of two cores that takes a while.
  testTimeout: 90_000,
};
