import { type RpcOf, ServiceError, services } from '@agent-service/contracts';
import type { IdentityContext } from '../context.ts';
import { issueAccessToken } from '../tokens/issue.ts';

interface KeyRow {
  id: string;
  organizationId: string;
  environment: 'live' | 'test';
  userId: string;
  scopes: string[];
  admin: boolean;
  tokenTtlSeconds: number | null;
  revoked: boolean;
}

const statement = `select id, organization_id as "organizationId", environment, user_id as "userId", scopes, admin,
  token_ttl_seconds as "tokenTtlSeconds", revoked_at is not null as revoked from api_keys where hash = $1`;

export const issueToken = (context: IdentityContext): RpcOf<'identity', 'issueToken'> => ({
  allow: services('gateway'),
  async handle({ apiKey }, call) {
    const [key] = await context.store.sql<KeyRow>(statement, [context.keyedHash(apiKey)]);
    if (!key) throw new ServiceError('invalid_token', { message: 'The API key is not valid.', param: 'api_key' });
    if (key.revoked) throw new ServiceError('token_revoked', { message: 'The API key has been revoked.', param: 'api_key' });
    const token = await issueAccessToken(context, call, { ...key, ttlSeconds: key.tokenTtlSeconds });
    return { accessToken: token.accessToken, expiresIn: token.expiresIn, expiresAt: token.expiresAt };
  },
});
