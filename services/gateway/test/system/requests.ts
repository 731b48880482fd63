import { randomUUID } from 'node:crypto';
import type { SentRequest } from '@agent-service/testkit';
import { z } from 'zod';
import type { Route } from '../../src/routes/route.ts';
import { furnish, makeAgent, type Organization, type World } from './world.ts';

interface Maker {
  /** Users belong to the organization: both environments see them. Everything else belongs to one environment. */
  belongsTo: 'organization' | 'environment';
  /** What the path names before it is made already. */
  make(world: World, organization: Organization, made: Readonly<Record<string, string>>): Promise<string>;
}

/** A message that has its answer, so that nothing goes on behind a test's back. */
async function makeMessage(world: World, { keys }: Organization, agentId = ''): Promise<{ id: string; conversation_id: string }> {
  return furnish(world.call, keys.live, 'POST', `/v1/agents/${agentId}/messages`, { message: 'How much?' });
}

/** How to make what a path can name, in the live environment. A route with a new kind of id needs one more line here. */
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
  agent_id: {
    belongsTo: 'environment',
    make: (world, organization) => makeAgent(world.call, organization.keys.live),
  },
  conversation_id: {
    belongsTo: 'environment',
    make: async (world, organization, made) => (await makeMessage(world, organization, made['agent_id'])).conversation_id,
  },
  message_id: {
    belongsTo: 'environment',
    make: async (world, organization, made) => (await makeMessage(world, organization, made['agent_id'])).id,
  },
};

export const parametersOf = ({ path }: Route): string[] => [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? '');

export const title = ({ method, path }: Route): string => `${method} ${path}`;

/** A request that passes every check of the route, from the examples of its own schemas. */
export function validRequest(route: Route, ids: Readonly<Record<string, string>>): SentRequest {
  const path = route.path.replace(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? `none_${name}`);
  if (!route.body) return { method: route.method, path };
  const { properties = {}, required = [] } = z.toJSONSchema(route.body, { io: 'input', unrepresentable: 'any' });
  const fields = Object.entries(properties as Record<string, { example?: unknown }>).filter(([name]) => required.includes(name));
  const body = Object.fromEntries(fields.map(([name, { example }]) => [name, name === 'email' ? `${randomUUID()}@made.example` : example]));
  return { method: route.method, path, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
}

/** Made ids for every parameter of the route. */
export async function makeIds(world: World, organization: Organization, route: Route): Promise<Record<string, string>> {
  const made: Record<string, string> = {};
  for (const name of parametersOf(route)) made[name] = (await makers[name]?.make(world, organization, made)) ?? '';
  return made;
}
