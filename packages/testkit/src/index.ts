export { freePort } from '@agent-service/local/host/ports';
export { type ChatRequest, type ModelReply, type ModelScript, type ScriptedModel, scriptedModel } from '@agent-service/scripted-model';
export { type ClockShifts, clockShifts } from './faults/clock-shifts.ts';
export { type LoadSample, percentile, type SteadyLoad, steadyLoad, summarize } from './faults/steady-load.ts';
export { type TestCertificate, type TestCertificateOptions, testAuthority, testCertificate } from './http/certificate.ts';
export { type CollectedSpan, type SpanCollector, spanCollector } from './http/collector.ts';
export { type DocumentedAnswers, servedAnswers } from './http/documented-answers.ts';
export { type IdTokenClaims, type IdTokenForge, type OpenIdProvider, openIdProvider } from './http/openid-provider.ts';
export {
  type ReceivedRequest,
  type Receiver,
  type ReceiverAnswer,
  type ReceiverBehaviour,
  type ReceiverScript,
  receiver,
} from './http/receiver.ts';
export { type ReceivedResponse, type SentRequest, send } from './http/send.ts';
export { sparseAnswer } from './http/sparse-answer.ts';
export { pythonWith, runProgram } from './infrastructure/python.ts';
export { testFolder } from './infrastructure/run-folder.ts';
export { machineEnvironment, mainFileOf } from './infrastructure/settings.ts';
export { modelsFileFor } from './models-file.ts';
export { type RecordingStore, recordingStore, recordSteps, type StatementRun } from './plans.ts';
export { randomOf, runSeed } from './random.ts';
export { type OwnPostgres, ownPostgres } from './servers/own-postgres.ts';
export { type OwnRedis, ownRedis } from './servers/own-redis.ts';
export { type PostgresPair, postgresPair } from './servers/postgres-pair.ts';
export { type SilentProxy, silentProxy } from './servers/silent-proxy.ts';
export { type DatabaseContents, type TestDatabase, testDatabase, withDatabase } from './servers/test-database.ts';
export { testRedis } from './servers/test-redis.ts';
export { type TestRedisCluster, testRedisCluster } from './servers/test-redis-cluster.ts';
export { type TestSentinel, testSentinel } from './servers/test-sentinel.ts';
export { type TlsPostgres, tlsPostgres } from './servers/tls-postgres.ts';
export { type ServiceProcess, serviceProcess } from './system/service-process.ts';
export { type SystemAccess, sharedSystem } from './system/shared-system.ts';
export { testSystem, testSystemWithServers, withoutRateLimits } from './system/test-system.ts';
export { until } from './until.ts';
