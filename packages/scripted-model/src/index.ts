export type { ChatRequest, ModelReply } from './reply.ts';
export { type ModelRule, scriptOf } from './rules.ts';
export { type ScriptedModel, scriptedModel } from './server.ts';
