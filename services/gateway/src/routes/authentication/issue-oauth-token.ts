import { ServiceError } from '@agent-service/contracts';
import { z } from 'zod';
import { basicCredentials } from '../../auth/authorization-header.ts';
import { validate } from '../../http/validate.ts';
import { type RawRequest, route } from '../../routing/route.ts';

const grantType = 'client_credentials';

const body = z.strictObject({
  grant_type: z.literal(grantType).meta({ example: grantType }),
  client_id: z.string().meta({ description: 'In the body or by HTTP Basic.', example: 'app_01jz0000000000000000000000' }),
  client_secret: z.string().meta({ description: 'In the body or by HTTP Basic.', example: 'a-client-secret' }),
  scope: z
    .string()
    .optional()
    .meta({ description: 'Scope names with spaces between them; without it every scope of the application.', example: 'users:read' }),
});

const response = z.strictObject({
  access_token: z.string(),
  token_type: z.literal('Bearer'),
  expires_in: z.int().meta({ description: 'Seconds.', example: 3600 }),
  scope: z.string().meta({ description: 'The granted scopes.', example: 'users:read' }),
});

/** The client may stand in the Authorization header instead. */
const parameters = body.partial({ client_id: true, client_secret: true });

/** Parameters without a value count as left out (RFC 6749, section 3.2), and the client may stand in the Authorization header. */
function prepare({ body: form, authorization }: RawRequest): Record<string, string> {
  const entries = Object.entries((form ?? {}) as Record<string, string>).filter(([, value]) => value !== '');
  const fields: Record<string, string> = Object.fromEntries(entries);
  if (fields.grant_type !== undefined && fields.grant_type !== grantType)
    throw new ServiceError('invalid_grant_type', { param: 'grant_type' });
  // Faulty parameters are reported before a faulty client, readable or not.
  validate(parameters, fields);
  const basic = basicCredentials(authorization);
  if (!basic) return fields;
  if (fields.client_secret !== undefined || (fields.client_id !== undefined && fields.client_id !== basic.id)) {
    throw new ServiceError('invalid_request', {
      message: 'Send the client credentials in the body or in the Authorization header, not in both.',
    });
  }
  return { ...fields, client_id: basic.id, client_secret: basic.secret };
}

export const issueOauthToken = route({
  method: 'POST',
  path: '/v1/auth/oauth/token',
  operationId: 'issueOauthToken',
  summary: 'OAuth 2.0 client credentials grant',
  description: 'The client authenticates with `client_id` and `client_secret` in the form or by HTTP Basic, not both.',
  tag: 'Authentication',
  auth: 'none',
  cost: 'token',
  bodyType: 'form',
  body,
  response,
  errorForm: 'oauth',
  errors: ['invalid_client', 'invalid_scope', 'invalid_grant_type'],
  prepare,
  credential: (form) => z.object({ client_id: z.string() }).safeParse(form).data?.client_id,
  async handler({ body: { client_id, client_secret, scope = '' } }, { identity }) {
    const token = await identity.issueClientToken({ clientId: client_id, clientSecret: client_secret, scope });
    return { access_token: token.accessToken, token_type: 'Bearer' as const, expires_in: token.expiresIn, scope: token.scope };
  },
});
