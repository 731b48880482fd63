import type { Agent } from '../domain/agent.ts';

const iso = (at: number) => new Date(at).toISOString();

/** The agent as the contract shows it. */
export const toAgentMessage = (agent: Agent) => ({
  id: agent.id,
  name: agent.name,
  description: agent.description,
  category: agent.category,
  status: agent.status,
  model: agent.model,
  createdAt: iso(agent.createdAt),
  updatedAt: iso(agent.updatedAt),
  systemPrompt: agent.systemPrompt,
  dataScope: { tables: [...agent.tables], readOnly: agent.readOnly },
  outputPreferences: { defaultFormat: agent.defaultFormat, chartEnabled: agent.chartEnabled },
  welcomeMessage: agent.welcomeMessage,
  suggestedPrompts: [...agent.suggestedPrompts],
  createdBy: agent.createdBy,
  sourceTemplateId: agent.sourceTemplateId,
  version: agent.version,
});
