import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { type Client, createClient, type Environment, operatorService, type Principal, withCall } from '@agent-service/contracts';
import type { LocalOptions } from '@agent-service/local/system/system';
import {
  type ReceivedResponse,
  type SentRequest,
  type SystemAccess,
  sharedSystem,
  testSystem,
  withoutRateLimits,
} from '@agent-service/testkit';
import { answers } from '../support/document.ts';
import { connectCredits, spend } from './spend.ts';

export interface Organization {
  id: string;
  adminId: string;
  keys: Record<Environment, string>;
}

/** A running system with an operator's client, and two organizations with some credits and usage, whose data must stay apart. */
export interface World {
  system: SystemAccess;
  /** The URLs of all gateways. */
  gateways: string[];
  operator: Client<'identity'>;
  ours: Organization;
  theirs: Organization;
  /** Every answer has to be one that the OpenAPI document describes. */
  call(token: string | undefined, request: SentRequest, gateway?: string): Promise<ReceivedResponse>;
  makeKey(
    organization: Organization,
    environment: Environment,
    options?: { scopes?: string[]; admin?: boolean },
  ): Promise<{ id: string; key: string }>;
  inOrganization<T>(organization: Organization, work: () => T): T;
  stop(): Promise<void>;
}

/** Sends a request that prepares a test, and throws unless it succeeds. */
export async function furnish<Data>(call: World['call'], key: string, method: string, path: string, body: object): Promise<Data> {
  const answer = await call(key, { method, path, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
  if (answer.status >= 300) throw new Error(`${method} ${path} answered ${answer.status}: ${answer.text}`);
  return answer.json<{ data: Data }>().data;
}

/** Creates an active agent. */
export async function makeAgent(call: World['call'], key: string): Promise<string> {
  const body = { name: 'Made', system_prompt: 'Answer.', data_scope: { tables: [] } };
  const { id } = await furnish<{ id: string }>(call, key, 'POST', '/v1/agents', body);
  await furnish(call, key, 'PATCH', `/v1/agents/${id}`, { status: 'active' });
  return id;
}

/** An address without a server. */
export const webhookUrl = 'https://127.0.0.1:9/made';

/** Creates a webhook for an event that does not occur in these suites. */
export async function makeWebhook(call: World['call'], key: string): Promise<string> {
  return (await furnish<{ id: string }>(call, key, 'POST', '/v1/webhooks', { url: webhookUrl, events: ['credits.low_balance'] })).id;
}

/** Repeats the calls until it is stopped, so that the leases of their tokens stay fresh, and leaves the processor to the other suites in between. */
export function keepBusy(callAll: () => Promise<unknown>): () => Promise<void> {
  let busy = true;
  const loop = (async () => {
    while (busy) {
      await callAll();
      await pause(20);
    }
  })();
  return async () => {
    busy = false;
    await loop;
  };
}

/** The settings of a world with webhooks whose URLs may be on this machine. */
export const withWebhooks = { WEBHOOKS_ENABLED: 'true', WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' };

/** Starts a world on its own system, which has no demonstration. */
export async function startWorld(settings: Record<string, string> = {}, options: Partial<LocalOptions> = {}): Promise<World> {
  const system = await testSystem({ ...withoutRateLimits, REPLICAS: 'gateway=2', ...settings }, options);
  return await openWorld(system, settings['WEBHOOKS_ENABLED'] === 'true', () => system.stop());
}

/** Opens a world on the system that test files share, which has webhooks. */
export async function shareWorld(): Promise<World> {
  const system = await sharedSystem();
  return await openWorld(system, true, async () => system.leave());
}

async function openWorld(system: SystemAccess, hasWebhooks: boolean, stopSystem: () => Promise<void>): Promise<World> {
  const operator = createClient('identity', {
    address: system.endpoints['identity'] ?? '',
    as: operatorService,
    config: { SERVICE_SECRET: [system.secrets.SERVICE_SECRET] },
  });
  const credits = connectCredits(system.endpoints['credits'] ?? '', system.secrets.SERVICE_SECRET);
  const call: World['call'] = (token, request, gateway = system.url) =>
    answers.send(gateway, { ...request, headers: { ...(token && { authorization: `Bearer ${token}` }), ...request.headers } });
  const makeOrganization = async (name: string): Promise<Organization> => {
    const created = await operator.createOrganization({ name });
    await spend(credits, created.organizationId, 'live', created.userId);
    const keys = { live: created.liveApiKey, test: created.testApiKey };
    for (const key of Object.values(keys)) {
      await furnish(call, key, 'PUT', `/v1/credits/users/${created.userId}/allocation`, { monthly_limit: 50_000 });
      await makeAgent(call, key);
      if (hasWebhooks) await makeWebhook(call, key);
    }
    return { id: created.organizationId, adminId: created.userId, keys };
  };
  return {
    system,
    gateways: ['gateway', 'gateway-2'].flatMap((name) => system.endpoints[name] ?? []),
    operator,
    ours: await makeOrganization('Ours'),
    theirs: await makeOrganization('Theirs'),
    call,
    async makeKey({ id, adminId }, environment, { scopes = [], admin = false } = {}) {
      const created = await operator.createKey({ organizationId: id, userId: adminId, environment, scopes, admin });
      return { id: created.keyId, key: created.apiKey };
    },
    inOrganization({ id }, work) {
      const principal: Principal = { organizationId: id, environment: 'live', userId: '', credentialId: '', scopes: [], admin: true };
      return withCall({ requestId: randomUUID(), principal, expiresAt: performance.now() + 20_000 }, work);
    },
    async stop() {
      operator.close();
      credits.close();
      await stopSystem();
    },
  };
}
