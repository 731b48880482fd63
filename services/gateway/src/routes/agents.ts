import { required } from '@agent-service/contracts';
import { text } from '@agent-service/contracts/text';
import { bodyLimits } from '@agent-service/http/requests/body';
import { z } from 'zod';
import { reply, route, withoutBody } from '../routing/route.ts';
import {
  agent,
  agentChanges,
  agentParams,
  agentStatus,
  agentSummary,
  createdAgent,
  fromChanges,
  fromNewAgent,
  newAgent,
  toAgent,
  toAgentSummary,
  updatedAgent,
} from '../schemas/agent.ts';
import { type EntityTags, entityTag, ifMatch, ifNoneMatch, isNamed, versionsMeant } from '../schemas/conditions.ts';
import { cursor, limit, listMeta, pageRequest, toListMeta } from '../schemas/list-query.ts';

export const createAgent = route({
  method: 'POST',
  path: '/v1/agents',
  operationId: 'createAgent',
  summary: 'Create an agent',
  description: 'It begins as a draft; make it active with PATCH.',
  tag: 'Agents',
  auth: 'token',
  scope: 'agents:write',
  cost: 'write',
  body: newAgent,
  bodyLimits: bodyLimits.agent,
  status: 201,
  response: z.strictObject({ data: createdAgent }),
  async handler({ body }, { agents }) {
    const response = await agents.createAgent(fromNewAgent(body));
    const { id, name, status, created_at } = toAgentSummary(required(response.agent));
    return { data: { id, name, status, created_at } };
  },
});

export const deleteAgent = route({
  method: 'DELETE',
  path: '/v1/agents/{agent_id}',
  operationId: 'deleteAgent',
  summary: 'Delete an agent with its conversations',
  description: 'This cannot be undone. Answers under way end without a charge.',
  tag: 'Agents',
  auth: 'token',
  scope: 'agents:write',
  cost: 'write',
  params: agentParams,
  headers: z.object({ 'If-Match': ifMatch }),
  errors: ['precondition_failed'],
  async handler({ params, headers }, { agents }) {
    await agents.deleteAgent({ agentId: params.agent_id, ifVersions: versions(headers['If-Match']) });
    return undefined;
  },
});

export const getAgent = route({
  method: 'GET',
  path: '/v1/agents/{agent_id}',
  operationId: 'getAgent',
  summary: 'View an agent',
  tag: 'Agents',
  auth: 'token',
  scope: 'agents:read',
  cost: 'read',
  params: agentParams,
  headers: z.object({ 'If-None-Match': ifNoneMatch }),
  response: z.strictObject({ data: agent }),
  successHeaders: ['ETag'],
  otherSuccesses: [{ status: 304, description: 'If-None-Match names what there is.', headers: ['ETag'] }],
  async handler({ params, headers: { 'If-None-Match': known } }, { agents }) {
    const current = required((await agents.getAgent({ agentId: params.agent_id })).agent);
    const headers = ['ETag', entityTag(current.version)];
    return known && isNamed(known, current.version)
      ? withoutBody({ status: 304, headers })
      : reply({ data: toAgent(current) }, { headers });
  },
});

export const listAgents = route({
  method: 'GET',
  path: '/v1/agents',
  operationId: 'listAgents',
  summary: 'List the agents, newest first',
  tag: 'Agents',
  auth: 'token',
  scope: 'agents:read',
  cost: 'read',
  query: z.strictObject({
    limit: limit(20, 100),
    cursor,
    category: text(0, 2_000).optional().meta({ description: 'Agents of this category, or of none where it is empty.' }),
    status: agentStatus.optional(),
    search: text(0, 2_000).optional().meta({ description: 'A part of the name or the description, in any case.' }),
  }),
  response: z.strictObject({ data: z.array(agentSummary), meta: listMeta }),
  errors: ['invalid_cursor'],
  async handler({ query, requestId }, { agents }) {
    const { category, status = '', search = '' } = query;
    const filter = { page: pageRequest(query), status, search, ...(category !== undefined && { category }) };
    const { agents: listed, page } = await agents.listAgents(filter);
    return { data: listed.map(toAgentSummary), meta: toListMeta(page, requestId) };
  },
});

/** No agent has this version, so an If-Match without a version of ours changes nothing. */
const noVersion = 0;

export const updateAgent = route({
  method: 'PATCH',
  path: '/v1/agents/{agent_id}',
  operationId: 'updateAgent',
  summary: 'Change an agent',
  description:
    'A merge patch: what is left out stays as it is, and null takes an optional field back to its default. A draft can be made active, an active agent inactive and back.',
  tag: 'Agents',
  auth: 'token',
  scope: 'agents:write',
  cost: 'write',
  params: agentParams,
  headers: z.object({ 'If-Match': ifMatch }),
  body: agentChanges,
  bodyLimits: bodyLimits.agent,
  response: z.strictObject({ data: updatedAgent }),
  successHeaders: ['ETag'],
  errors: ['invalid_status_transition', 'precondition_failed'],
  async handler({ params, headers, body }, { agents }) {
    const ifVersions = versions(headers['If-Match']);
    const response = await agents.updateAgent({ agentId: params.agent_id, ...fromChanges(body), ifVersions });
    const changed = required(response.agent);
    const { id, name, status, model, updated_at } = toAgentSummary(changed);
    return reply({ data: { id, name, status, model, updated_at } }, { headers: ['ETag', entityTag(changed.version)] });
  },
});

function versions(condition: EntityTags | undefined): number[] {
  const intended = condition && versionsMeant(condition);
  if (intended === undefined) return [];
  return intended.length > 0 ? intended : [noVersion];
}
