import { operators, type RpcOf } from '@agent-service/contracts';
import type { IdentityContext } from '../context.ts';
import { revoke } from './revoke-credential.ts';

export const revokeOauthClient = (context: IdentityContext): RpcOf<'identity', 'revokeOauthClient'> => ({
  allow: operators,
  async handle({ clientId }, call) {
    await revoke(context, call, { table: 'oauth_clients', action: 'oauth_client.revoked', target: 'oauth_client' }, clientId);
    return {};
  },
});
