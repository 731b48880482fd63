import { BullMQOtel } from 'bullmq-otel';

/** What a queue and its workers take to carry the trace through a job. Apart, so that only who has queues loads it. */
export const queueTelemetry = () => new BullMQOtel({ tracerName: 'agent-service' });
