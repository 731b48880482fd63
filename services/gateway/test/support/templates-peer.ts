import { callers, type Implementation } from '@agent-service/contracts';

const at = '2026-01-31T10:00:00.000Z';

const summary = {
  id: 'tpl_1',
  name: 'Sales performance',
  description: 'Answers questions about revenue.',
  category: 'sales',
  version: '1.1.0',
  model: 'Smart',
  creditCostEstimate: '2-10 credits per query',
  status: 'available',
  requiredTables: ['orders'],
  createdAt: at,
  updatedAt: at,
};

/** The usual responses of the templates service for one template. */
export function usualTemplates(): Implementation<'templates'> {
  const reads = { allow: callers({ scope: 'templates:read' }) };
  const writes = { allow: callers({ scope: 'templates:write' }) };
  return {
    listTemplates: { ...reads, handle: async () => ({ templates: [summary], page: { total: 1, nextCursor: '' } }) },
    getTemplate: {
      ...reads,
      handle: async ({ templateId: id }) => ({
        template: {
          summary: { ...summary, id },
          longDescription: 'For all who want to know how sales go.',
          requiredPermissions: ['templates:write'],
          suggestedPrompts: ['How much did we sell last month?'],
          changelog: [{ version: '1.1.0', date: '2026-01-31', changes: 'By channel as well.' }],
        },
      }),
    },
    activateTemplate: {
      ...writes,
      handle: async ({ templateId, nameOverride }) => ({
        templateId,
        agentId: 'agt_1',
        name: nameOverride || summary.name,
        status: 'active',
        activatedAt: at,
      }),
    },
    deactivateTemplate: {
      ...writes,
      handle: async ({ templateId }) => ({ templateId, agentId: 'agt_1', status: 'inactive', deactivatedAt: at }),
    },
    duplicateTemplate: {
      allow: callers({ scope: 'agents:write' }),
      handle: async ({ templateId, name, description = '' }) => ({
        id: 'agt_2',
        name,
        description,
        status: 'draft',
        sourceTemplateId: templateId,
        createdAt: at,
      }),
    },
  };
}
