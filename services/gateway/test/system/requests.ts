import { randomUUID } from 'node:crypto';
import { type SentRequest, until } from '@agent-service/testkit';
import { z } from 'zod';
import type { Route } from '../../src/routing/route.ts';
import { furnish, makeAgent, makeWebhook, type Organization, type World, webhookUrl } from './world.ts';

interface Maker {
  /** Users belong to the organization: both environments see them. All organizations see the templates. The rest belongs to one environment. */
  belongsTo: 'everyone' | 'organization' | 'environment';
  /** Creates the resource of the path, so that the request of the route succeeds. */
  make(world: World, organization: Organization, ids: Readonly<Record<string, string>>, route: Route): Promise<string>;
}

/** A message with its answer, so that no work continues during a test. */
async function makeMessage(world: World, { keys }: Organization, agentId = ''): Promise<{ id: string; conversation_id: string }> {
  return furnish(world.call, keys.live, 'POST', `/v1/agents/${agentId}/messages`, { message: 'How much?' });
}

/** A template, activated only for the route that deactivates it. */
async function makeTemplate(world: World, { keys }: Organization, { operationId }: Route): Promise<string> {
  const headers = { 'content-type': 'application/json' };
  const [id, act] = ['tpl_sales_performance', operationId === 'deactivateTemplate' ? 'activate' : 'deactivate'];
  const answer = await world.call(keys.live, { method: 'POST', path: `/v1/templates/${id}/${act}`, headers });
  if (answer.status >= 300 && answer.status !== 409) throw new Error(`${act} answered ${answer.status}: ${answer.text}`);
  return id;
}

/** The newest webhook if there is one, since their number is limited. */
async function newestWebhook(world: World, { keys }: Organization): Promise<string> {
  const newest = (await world.call(keys.live, { method: 'GET', path: '/v1/webhooks?limit=1' })).json<{ data: { id: string }[] }>().data[0];
  return newest?.id ?? (await makeWebhook(world.call, keys.live));
}

/** A delivery whose attempt has ended, so that no work continues during a test. */
async function makeDelivery(world: World, { keys }: Organization, webhookId = ''): Promise<string> {
  const path = `/v1/webhooks/${webhookId}/deliveries?limit=1`;
  const { id } = await furnish<{ id: string }>(world.call, keys.live, 'POST', `/v1/webhooks/${webhookId}/test`, {});
  const isPending = async () => {
    const { data } = (await world.call(keys.live, { method: 'GET', path })).json<{ data: { status: string }[] }>();
    return data[0]?.status === 'pending';
  };
  await until('the attempt is over', async () => !(await isPending()));
  return id;
}

/** Makers of the resources that paths name, in the live environment. A route with a new kind of id needs a maker here. */
export const makers: Record<string, Maker> = {
  user_id: {
    belongsTo: 'organization',
    async make(world, organization) {
      const email = `${randomUUID()}@made.example`;
      const { user } = await world.inOrganization(organization, () => world.operator.createUser({ name: 'Made', email, role: 'member' }));
      return user?.id ?? '';
    },
  },
  key_id: {
    belongsTo: 'environment',
    make: async (world, organization) => (await world.makeKey(organization, 'live')).id,
  },
  application_id: {
    belongsTo: 'environment',
    make: async (world, { id }) => (await world.operator.createOauthClient({ organizationId: id, environment: 'live' })).clientId,
  },
  agent_id: {
    belongsTo: 'environment',
    make: (world, organization) => makeAgent(world.call, organization.keys.live),
  },
  conversation_id: {
    belongsTo: 'environment',
    make: async (world, organization, ids) => (await makeMessage(world, organization, ids['agent_id'])).conversation_id,
  },
  message_id: {
    belongsTo: 'environment',
    make: async (world, organization, ids) => (await makeMessage(world, organization, ids['agent_id'])).id,
  },
  template_id: {
    belongsTo: 'everyone',
    make: (world, organization, _, route) => makeTemplate(world, organization, route),
  },
  webhook_id: {
    belongsTo: 'environment',
    make: newestWebhook,
  },
  delivery_id: {
    belongsTo: 'environment',
    make: (world, organization, ids) => makeDelivery(world, organization, ids['webhook_id']),
  },
};

export const parametersOf = ({ path }: Route): string[] => [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? '');

export const title = ({ method, path }: Route): string => `${method} ${path}`;

/** Values for fields whose examples are not valid in these tests. */
const special: Readonly<Record<string, () => string>> = { email: () => `${randomUUID()}@made.example`, url: () => webhookUrl };

/** A request that is valid for the route, from the examples of its schemas. */
export function validRequest(route: Route, ids: Readonly<Record<string, string>>): SentRequest {
  const path = route.path.replace(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? `none_${name}`);
  if (!route.body) return { method: route.method, path };
  const { properties = {}, required = [] } = z.toJSONSchema(route.body, { io: 'input', unrepresentable: 'any' });
  const fields = Object.entries(properties as Record<string, { example?: unknown }>).filter(([name]) => required.includes(name));
  const body = Object.fromEntries(fields.map(([name, { example }]) => [name, special[name]?.() ?? example]));
  return { method: route.method, path, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
}

/** Creates a resource for every parameter of the route and returns their ids. */
export async function makeIds(world: World, organization: Organization, route: Route): Promise<Record<string, string>> {
  const ids: Record<string, string> = {};
  for (const name of parametersOf(route)) ids[name] = (await makers[name]?.make(world, organization, ids, route)) ?? '';
  return ids;
}
