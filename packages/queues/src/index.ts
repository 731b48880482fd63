export {
  createNoticePublisher,
  createReplyPublisher,
  openReplyChannel,
  openWorkerChannel,
  type Reply,
  type WorkerNotice,
} from './answers/replies.ts';
export { ReplyFilter } from './answers/reply-filter.ts';
export { createReplyWriters, type ReplyWriter, type ReplyWriters } from './answers/reply-writer.ts';
export type { AnswerJob, ApartJob, DeliveriesJob } from './jobs/catalogue.ts';
export { createReachabilityCheck, pauseOnFault } from './jobs/pause-on-fault.ts';
export { createProducer, type Producer } from './jobs/producer.ts';
export { type JobWorker, startWorker } from './jobs/worker.ts';
export type { RedisClient } from './redis/clients.ts';
export { openRedis, type RedisConnections } from './redis/open-redis.ts';
export { type RedisConfig, redisSettings } from './redis/settings.ts';
