export type { ChatRequest, ModelReply } from './reply.ts';
export { type ModelRule, scriptOf } from './rules.ts';
export { type ModelScript, type ScriptedModel, scriptedModel } from './server.ts';
