import { type RpcOf, ServiceError, services } from '@agent-service/contracts';
import type { IdentityContext } from '../context.ts';
import { keysByHash } from '../store/credentials.ts';
import { issueAccessToken } from '../tokens/issue.ts';

export const issueToken = (context: IdentityContext): RpcOf<'identity', 'issueToken'> => ({
  allow: services('gateway'),
  async handle({ apiKey }, call) {
    const [key] = await keysByHash(context.store.sql, [context.keyedHash(apiKey)]);
    if (!key) throw new ServiceError('invalid_token', { message: 'The API key is not valid.', param: 'api_key' });
    if (key.revoked) throw new ServiceError('token_revoked', { message: 'The API key has been revoked.', param: 'api_key' });
    const token = await issueAccessToken(context, call, { ...key, ttlSeconds: key.tokenTtlSeconds });
    return { accessToken: token.accessToken, expiresIn: token.expiresIn, expiresAt: token.expiresAt };
  },
});
