import { BullMQOtel } from 'bullmq-otel';

/** Carries the trace through a job, for queues and workers. A file of its own, so that only processes with queues load the library. */
export const queueTelemetry = () => new BullMQOtel({ tracerName: 'agent-service' });
