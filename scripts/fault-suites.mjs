/**
 * Suites whose processes are killed, frozen, overloaded or given a wrong clock. They take a third of the processor time of all suites, so that
 * `npm test` runs only those of them that are named on its command line (docs/decisions/0154).
 */
export const faultSuites = [
  'packages/business-data/test/statement-gate\\.test',
  'packages/local/test/(succession|supervisor-death)\\.test',
  'services/agents/test/answers/(cut-off|killed|poison)\\.test',
  'services/answer-worker/test/(apart|deep-statements|processes)\\.test',
  'services/credits/test/(killed|wrong-clock)\\.test',
  'services/gateway/test/faults/(audit-outage|clocks|slow-tenant)\\.test',
  'services/gateway/test/system/answers-on-cluster\\.test',
  'services/templates/test/faults\\.test',
  'services/webhooks/test/(clocks|cut-off|faults)\\.test',
  'test/blast/blast\\.test',
];
