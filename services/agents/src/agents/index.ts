import type { ProcessContext } from '@agent-service/runtime';
import { startSweep } from '@agent-service/store';
import type { ServiceDeps } from '../shared/deps.ts';
import { type AgentsDeps, createAgent, deleteAgent, getAgent, listAgents, updateAgent } from './rpc/agents.ts';
import { activateTemplateAgent, deactivateTemplateAgent, listTemplateAgents } from './rpc/template-agents.ts';
import { removeDeletedAgents } from './store/deleted-agents.ts';

export { AgentCategoryCountEntity, AgentCountEntity, AgentEntity, countStatements, DeletedAgentEntity } from './store/agents.ts';
export { deletedAgentStatements } from './store/deleted-agents.ts';

export const agentMethods = (deps: AgentsDeps) => ({
  activateTemplateAgent: activateTemplateAgent(deps),
  createAgent: createAgent(deps),
  deactivateTemplateAgent: deactivateTemplateAgent(deps),
  deleteAgent: deleteAgent(deps),
  getAgent: getAgent(deps),
  listAgents: listAgents(deps),
  listTemplateAgents: listTemplateAgents(deps),
  updateAgent: updateAgent(deps),
});

export const startAgentSweep = (process: ProcessContext, { store }: Pick<ServiceDeps, 'store'>): void =>
  startSweep(process, 'deleted agents', 1_000, () => removeDeletedAgents(store, process.logger), 4_000);
