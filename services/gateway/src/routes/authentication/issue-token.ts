import { isWellFormedApiKey, ServiceError } from '@agent-service/contracts';
import { z } from 'zod';
import { route } from '../../routing/route.ts';

const response = z.strictObject({
  data: z.strictObject({
    access_token: z.string(),
    token_type: z.literal('Bearer'),
    expires_in: z.int().meta({ description: 'Seconds.', example: 3600 }),
    expires_at: z.iso.datetime(),
  }),
});

export const issueToken = route({
  method: 'POST',
  path: '/v1/auth/token',
  operationId: 'issueToken',
  summary: 'Exchange an API key for an access token',
  tag: 'Authentication',
  auth: 'none',
  cost: 'token',
  body: z.strictObject({
    api_key: z.string().meta({ description: 'A live or test API key.', example: 'sa_live_000000000000000000000000000000000Eeq93' }),
  }),
  response,
  errors: ['invalid_token', 'token_revoked'],
  credential: (body) => z.object({ api_key: z.string() }).safeParse(body).data?.api_key,
  async handler({ body: { api_key } }, { identity }) {
    if (!isWellFormedApiKey(api_key)) throw new ServiceError('invalid_token', { message: 'The API key is not valid.', param: 'api_key' });
    const { accessToken, expiresIn, expiresAt } = await identity.issueToken({ apiKey: api_key });
    return { data: { access_token: accessToken, token_type: 'Bearer' as const, expires_in: expiresIn, expires_at: expiresAt } };
  },
});
