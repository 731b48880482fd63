import { type RpcOf, ServiceError } from '@agent-service/contracts';
import { type Definition, isStatus, isTier, type Status, statuses, type Tier, tiers } from '../domain/agent.ts';
import type { Changes } from '../domain/change.ts';

type CreateRequest = Parameters<RpcOf<'agents', 'createAgent'>['handle']>[0];
type UpdateRequest = Parameters<RpcOf<'agents', 'updateAgent'>['handle']>[0];

const refuse = (param: string, allowed: readonly string[]) =>
  new ServiceError('invalid_request', { message: `${param} must be one of ${allowed.join(', ')}.`, param });

export function tierOf(model: string): Tier {
  if (isTier(model)) return model;
  throw refuse('model', tiers);
}

function statusOf(status: string): Status {
  if (isStatus(status)) return status;
  throw refuse('status', statuses);
}

/** What is absent takes the value that the specification gives it. */
export const definitionOf = (request: CreateRequest): Definition => ({
  name: request.name,
  description: request.description,
  category: request.category,
  model: tierOf(request.model || 'Fast'),
  systemPrompt: request.systemPrompt,
  tables: request.dataScope?.tables ?? [],
  readOnly: request.dataScope?.readOnly ?? true,
  defaultFormat: request.outputPreferences?.defaultFormat || 'markdown',
  chartEnabled: request.outputPreferences?.chartEnabled ?? false,
  welcomeMessage: request.welcomeMessage,
  suggestedPrompts: request.suggestedPrompts,
});

/** Proto tells apart what is absent and what is empty: only what is named changes. */
export const changesOf = (request: UpdateRequest): Changes => ({
  name: request.name,
  description: request.description,
  category: request.category,
  status: request.status === undefined ? undefined : statusOf(request.status),
  model: request.model === undefined ? undefined : tierOf(request.model),
  systemPrompt: request.systemPrompt,
  tables: request.dataScope?.tables?.values,
  readOnly: request.dataScope?.readOnly,
  defaultFormat: request.outputPreferences?.defaultFormat,
  chartEnabled: request.outputPreferences?.chartEnabled,
  welcomeMessage: request.welcomeMessage,
  suggestedPrompts: request.suggestedPrompts?.values,
});
