import { type Call, callers, type RpcOf, ServiceError, withCall } from '@agent-service/contracts';
import { definitionToMessage } from '@agent-service/contracts/agents/definition';
import { missingPermissions, type Template } from '../domain/template.ts';
import { requireTemplate, type TemplatesContext } from './context.ts';

export const activateTemplate = (context: TemplatesContext): RpcOf<'templates', 'activateTemplate'> => ({
  allow: callers({ scope: 'templates:write' }),
  async handle({ templateId, nameOverride, modelOverride }, call) {
    const template = requireTemplate(context, templateId);
    checkPermissions(template, call);
    const request = {
      templateId,
      definition: definitionToMessage(template),
      requiredTables: [...template.requiredTables, ...template.tables.filter((table) => !template.requiredTables.includes(table))],
      ...(nameOverride !== '' && { name: nameOverride }),
      ...(modelOverride !== '' && { model: modelOverride }),
    };
    const { agent } = await forwardIdempotencyKey(call, () => context.agents.activateTemplateAgent(request));
    const { id: agentId, name, status, updatedAt: activatedAt } = requireAgent(agent);
    return { templateId, agentId, name, status, activatedAt };
  },
});

export const deactivateTemplate = (context: TemplatesContext): RpcOf<'templates', 'deactivateTemplate'> => ({
  allow: callers({ scope: 'templates:write' }),
  async handle({ templateId }, call) {
    requireTemplate(context, templateId);
    const { agent } = await forwardIdempotencyKey(call, () => context.agents.deactivateTemplateAgent({ templateId }));
    const { id: agentId, status, updatedAt: deactivatedAt } = requireAgent(agent);
    return { templateId, agentId, status, deactivatedAt };
  },
});

/** Makes an agent that begins with the template's definition and is not connected with it afterwards. */
export const duplicateTemplate = (context: TemplatesContext): RpcOf<'templates', 'duplicateTemplate'> => ({
  allow: callers({ scope: 'agents:write' }),
  async handle({ templateId, name, description }, call) {
    const definition = definitionToMessage(requireTemplate(context, templateId));
    const request = { ...definition, name, description: description ?? definition.description, sourceTemplateId: templateId };
    const { agent } = await forwardIdempotencyKey(call, () => context.agents.createAgent(request));
    const { id, name: agentName, description: agentDescription, status, sourceTemplateId, createdAt } = requireAgent(agent);
    return { id, name: agentName, description: agentDescription, status, sourceTemplateId, createdAt };
  },
});

function checkPermissions(template: Template, { tenant: { scopes } }: Call): void {
  const missing = missingPermissions(template, scopes);
  if (missing.length === 0) return;
  throw new ServiceError('insufficient_scope', {
    message: `The token lacks what this template requires: ${missing.join(', ')}.`,
    details: { required: [...template.requiredPermissions], granted: [...scopes] },
  });
}

/**
 * Passes the caller's Idempotency-Key on to agents, which stores the outcome in the transaction that changes the agent. A repeated
 * request gets the stored outcome.
 */
function forwardIdempotencyKey<T>(call: Call, work: () => Promise<T>): Promise<T> {
  const { requestId, principal, voucher, expiresAt, requestedOnce: idempotency } = call;
  const onReplayed = () => {
    call.replayed = true;
  };
  return withCall({ requestId, principal, voucher, expiresAt, idempotency, onReplayed }, work);
}

/** Agents always sends the agent; the wire format allows leaving it out. */
function requireAgent<Agent>(agent: Agent | null): Agent {
  if (agent === null) throw new ServiceError('internal', { cause: new Error('agents left out the agent') });
  return agent;
}
