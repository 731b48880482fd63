import type { Metrics } from '@agent-service/runtime';

export function createMeters(metrics: Metrics) {
  return {
    inFlight: metrics.gauge('worker_answers_in_flight', 'Answers in flight in this worker', []),
    seconds: metrics.seconds('answer_attempt_seconds', 'From the job to the end of the answer', ['tier', 'outcome']),
    firstDelta: metrics.seconds('answer_first_delta_seconds', 'From the job to the first delta of a streamed answer', ['tier']),
    toolSeconds: metrics.seconds('answer_tool_seconds', 'One step over business data', ['tool', 'outcome']),
    notBegun: metrics.counter('answers_not_begun_total', 'Jobs whose answer could not be begun', ['code']),
    processesDied: metrics.counter('answer_processes_died_total', 'Processes of answers that run apart that died with an answer', []),
    callsRepeated: metrics.counter('answer_calls_repeated_total', 'Retries of calls to agents', ['call']),
    renewalsFailed: metrics.counter('lease_renewals_failed_total', 'Failed renewals of leases', []),
  };
}

export type Meters = ReturnType<typeof createMeters>;
