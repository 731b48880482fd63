export { freePort } from '@agent-service/local/ports';
export { junk, mutatedValues, type Schema, validValues } from './http/schema-arbitrary.ts';
export { type ReceivedResponse, type SentRequest, send } from './http/send.ts';
export { type OwnRedis, ownRedis } from './infrastructure/own-redis.ts';
export { type TestDatabase, testDatabase } from './infrastructure/test-database.ts';
export { testFolder } from './infrastructure/test-folder.ts';
export { testRedis } from './infrastructure/test-redis.ts';
export { testSystem } from './infrastructure/test-system.ts';
