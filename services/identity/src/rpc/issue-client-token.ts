import { timingSafeEqual } from 'node:crypto';
import { type RpcOf, ServiceError, services } from '@agent-service/contracts';
import type { IdentityContext } from '../context.ts';
import { grantScopes } from '../domain/scope-grant.ts';
import { applicationById } from '../store/credentials.ts';
import { issueAccessToken } from '../tokens/issue.ts';

/** The client is judged before the scope. An unknown client, a wrong secret and a revoked client look the same. */
export const issueClientToken = (context: IdentityContext): RpcOf<'identity', 'issueClientToken'> => ({
  allow: services('gateway'),
  async handle({ clientId, clientSecret, scope }, call) {
    const client = await applicationById(context.store.sql, clientId);
    const given = Buffer.from(context.keyedHash(clientSecret));
    const genuine = client !== undefined && timingSafeEqual(given, Buffer.from(client.hash));
    if (!genuine || client.revoked) throw new ServiceError('invalid_client');
    const grant = grantScopes(client.scopes, scope);
    if ('refused' in grant)
      throw new ServiceError('invalid_scope', { message: `This client may not request: ${grant.refused.join(' ')}`, param: 'scope' });
    const token = await issueAccessToken(context, call, { ...client, scopes: grant.granted, admin: false, ttlSeconds: null });
    return { accessToken: token.accessToken, expiresIn: token.expiresIn, scope: grant.granted.join(' ') };
  },
});
