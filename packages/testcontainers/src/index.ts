export type { ChatRequest, ModelReply, ModelRule } from '@agent-service/scripted-model';
export { AgentServiceContainer, type Credentials, type StartedAgentService } from './agent-service-container.ts';
export { type Composition, type CompositionOptions, startComposition } from './composition.ts';
