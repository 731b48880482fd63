export { type Channel, openChannel } from './channels/channel.ts';
export { createPublisher, type Publisher } from './channels/publisher.ts';
export { type AnswerJob, type DeliveriesJob, type JobName, jobs, type PayloadOf } from './jobs/catalogue.ts';
export { createProducer, type NewJob, type Producer } from './jobs/producer.ts';
export { type JobWorker, startWorker, type WorkerOptions } from './jobs/worker.ts';
export type { RedisClient } from './redis/clients.ts';
export { openRedis, type RedisConnections } from './redis/open-redis.ts';
export type { Reply, ToolStep, WorkerNotice } from './replies.ts';
export { type RedisConfig, redisSettings } from './settings.ts';
