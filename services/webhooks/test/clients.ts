import { type Client, createClient, type Principal, withCall } from '@agent-service/contracts';
import { serviceSecret } from './settings.ts';

/** Clients of one webhooks process, as each of the services that call it. */
export interface Clients {
  gateway: Client<'webhooks'>;
  credits: Client<'webhooks'>;
  dispatcher: Client<'webhooks'>;
  close(): void;
}

export function connectTo(address: string): Clients {
  const client = (as: string) => createClient('webhooks', { address, as, config: { SERVICE_SECRET: [serviceSecret] } });
  const [gateway, credits, dispatcher] = [client('gateway'), client('credits'), client('webhook-dispatcher')];
  return {
    gateway,
    credits,
    dispatcher,
    close() {
      for (const each of [gateway, credits, dispatcher]) each.close();
    },
  };
}

/** Does the work as the gateway does it for a caller with these rights. */
export function asCaller<T>(caller: Partial<Principal>, work: () => T, idempotency?: { scope: string; fingerprint: string }): T {
  const principal: Principal = {
    organizationId: 'org_a',
    environment: 'live',
    userId: 'usr_admin',
    credentialId: 'key_1',
    scopes: ['webhooks:read', 'webhooks:write'],
    admin: true,
    ...caller,
  };
  return withCall({ requestId: 'test', principal, expiresAt: performance.now() + 20_000, idempotency }, work);
}
