import { callersAndOperators, type RpcOf } from '@agent-service/contracts';
import type { IdentityContext } from '../context.ts';
import { revoke } from './revoke-credential.ts';

export const revokeKey = (context: IdentityContext): RpcOf<'identity', 'revokeKey'> => ({
  allow: callersAndOperators({ admin: true }),
  async handle({ keyId }, call) {
    await revoke(context, call, { table: 'api_keys', action: 'key.revoked', target: 'key' }, keyId);
    return {};
  },
});
