import { callers, type RpcOf, ServiceError } from '@agent-service/contracts';
import { once, writeAudit } from '@agent-service/store';
import type { WebhooksContext } from '../context.ts';
import { makeSecret, previousSecretMs } from '../domain/secret.ts';
import { lockEndpoint, saveSecret } from '../store/endpoints.ts';
import { toTimestamp } from '../store/time.ts';
import { checkSecret } from './endpoint-input.ts';
import { toEndpoint } from './messages.ts';
import { openSecret, sealSecret } from './sealed-secrets.ts';

export const rotateSecret = ({ store, cipher, auditRelay, now }: WebhooksContext): RpcOf<'webhooks', 'rotateSecret'> => ({
  allow: callers({ scope: 'webhooks:write' }),
  async handle({ endpointId, secret }, call) {
    const { organizationId, environment } = call.tenant;
    const tenant = { organizationId, environment };
    const sealed = sealSecret(cipher, tenant, endpointId, secret === undefined ? makeSecret() : checkSecret(secret));
    // What an Idempotency-Key keeps of the answer is sealed, and opened for each repeat.
    const kept = await once(store, call, async ({ sql }) => {
      const before = await lockEndpoint(sql, tenant, endpointId);
      if (!before) throw new ServiceError('not_found');
      const at = now();
      const previousUntil = at + previousSecretMs;
      const row = await saveSecret(sql, tenant, endpointId, { sealed, previous: before.sealedSecret, previousUntil, at });
      await writeAudit(sql, call, { action: 'webhook.secret_rotated', ...tenant, target: { type: 'webhook', id: endpointId } });
      return { endpoint: toEndpoint(row), sealed, previousSecretUntil: toTimestamp(previousUntil) };
    });
    auditRelay.nudge();
    const { endpoint, previousSecretUntil } = kept;
    return { endpoint, previousSecretUntil, secret: openSecret(cipher, tenant, endpointId, kept.sealed) };
  },
});
