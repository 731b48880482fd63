import type { TemplatesContext } from '../context.ts';
import type { Status } from '../domain/template.ts';

/** How templates stand in the organization: activated while their agent is active. */
export async function readStatuses({ agents }: TemplatesContext): Promise<(id: string) => Status> {
  const { agents: standing } = await agents.listTemplateAgents({});
  const active = new Set(standing.flatMap(({ templateId, status }) => (status === 'active' ? [templateId] : [])));
  return (id) => (active.has(id) ? 'activated' : 'available');
}
