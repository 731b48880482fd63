export type { ChatRequest, ModelReply, ModelRule } from '@agent-service/scripted-model';
// For `exposeHostPorts`, which has an effect on the containers of its own copy of the module only.
export { TestContainers } from 'testcontainers';
export { AgentServiceContainer, type Credentials, type StartedAgentService } from './agent-service-container.ts';
export { type Composition, type CompositionOptions, startComposition } from './composition.ts';
