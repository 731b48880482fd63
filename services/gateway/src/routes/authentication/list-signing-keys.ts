import { z } from 'zod';
import { route } from '../../routing/route.ts';

const key = z.strictObject({
  kty: z.literal('RSA'),
  use: z.literal('sig'),
  alg: z.literal('RS256'),
  kid: z.string(),
  n: z.string(),
  e: z.string(),
});

export const listSigningKeys = route({
  method: 'GET',
  path: '/.well-known/jwks.json',
  operationId: 'listSigningKeys',
  summary: 'The public keys that access tokens are signed with (RFC 7517)',
  tag: 'Authentication',
  auth: 'none',
  extension: true,
  cacheControl: 'public, max-age=60',
  response: z.strictObject({ keys: z.array(key) }),
  async handler(_request, { publishedKeys }) {
    const keys = await publishedKeys();
    return { keys: keys.map(({ kid, n, e }) => ({ kty: 'RSA' as const, use: 'sig' as const, alg: 'RS256' as const, kid, n, e })) };
  },
});
