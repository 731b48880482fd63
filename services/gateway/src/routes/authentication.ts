import { isWellFormedApiKey, ServiceError } from '@agent-service/contracts';
import { plainText } from '@agent-service/contracts/text';
import { validate } from '@agent-service/http/requests/validate';
import { z } from 'zod';
import { basicCredentials } from '../auth/authorization-header.ts';
import { type RawRequest, reply, route } from '../routing/route.ts';
import { agentParams } from '../schemas/agent.ts';
import { keyParams } from '../schemas/credential.ts';

const grantType = 'client_credentials';

const oauthRequest = z.strictObject({
  grant_type: z.literal(grantType).meta({ example: grantType }),
  client_id: z
    .string()
    .meta({ description: 'In the body or by HTTP Basic.', pattern: plainText, example: 'app_01jz0000000000000000000000' }),
  client_secret: z
    .string()
    .meta({ description: 'In the body or by HTTP Basic.', pattern: plainText, example: 'sas_0000000000000000000000000000000000000000000' }),
  scope: z.string().optional().meta({
    description: 'Scope names with spaces between them; without it every scope of the application.',
    pattern: plainText,
    example: 'agents:read',
  }),
});

const jwt = z.string().meta({ example: 'eyJhbGciOiJSUzI1NiJ9.e30.c2lnbmF0dXJl' });

const oauthToken = z.strictObject({
  access_token: jwt,
  token_type: z.literal('Bearer'),
  expires_in: z.int().meta({ description: 'Seconds.', example: 3600 }),
  scope: z.string().meta({ description: 'The granted scopes.', example: 'agents:read' }),
});

/** The client credentials may be in the Authorization header instead. */
const oauthParameters = oauthRequest.partial({ client_id: true, client_secret: true });

/** Parameters without a value count as left out (RFC 6749, section 3.2), and the client credentials may be in the Authorization header. */
function readOauthRequest({ body: form, authorization }: RawRequest): Record<string, string> {
  const entries = Object.entries((form ?? {}) as Record<string, string>).filter(([, value]) => value !== '');
  const fields: Record<string, string> = Object.fromEntries(entries);
  if (fields.grant_type !== undefined && fields.grant_type !== grantType)
    throw new ServiceError('invalid_grant_type', { param: 'grant_type' });
  // Faulty parameters are reported before a faulty client, readable or not.
  validate(oauthParameters, fields);
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
  body: oauthRequest,
  response: oauthToken,
  errorForm: 'oauth',
  errors: ['invalid_client', 'invalid_scope', 'invalid_grant_type'],
  prepare: readOauthRequest,
  credential: (form) => z.object({ client_id: z.string() }).safeParse(form).data?.client_id,
  async handler({ body: { client_id, client_secret, scope = '' } }, { identity }) {
    const token = await identity.issueClientToken({ clientId: client_id, clientSecret: client_secret, scope });
    const { accessToken, expiresIn, scope: granted } = token;
    const body = { access_token: accessToken, token_type: 'Bearer' as const, expires_in: expiresIn, scope: granted };
    // RFC 6749, section 5.1, asks for both this and Cache-Control.
    return reply(body, { headers: ['Pragma', 'no-cache'] });
  },
});

const accessToken = z
  .strictObject({
    access_token: jwt,
    token_type: z.literal('Bearer'),
    expires_in: z.int().meta({ description: 'Seconds.', example: 3600 }),
    expires_at: z.iso.datetime().meta({ example: '2026-01-31T11:00:00.000Z' }),
  })
  .meta({ id: 'AccessToken' });

const toAccessToken = ({ accessToken, expiresIn, expiresAt }: { accessToken: string; expiresIn: number; expiresAt: string }) => ({
  access_token: accessToken,
  token_type: 'Bearer' as const,
  expires_in: expiresIn,
  expires_at: expiresAt,
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
    api_key: z
      .string()
      .meta({ description: 'A live or test API key.', pattern: plainText, example: 'sa_live_000000000000000000000000000000000Eeq93' }),
  }),
  response: z.strictObject({ data: accessToken }),
  errors: ['invalid_token', 'token_revoked'],
  credential: (body) => z.object({ api_key: z.string() }).safeParse(body).data?.api_key,
  async handler({ body: { api_key } }, { identity }) {
    if (!isWellFormedApiKey(api_key)) throw new ServiceError('invalid_token', { message: 'The API key is not valid.', param: 'api_key' });
    const token = await identity.issueToken({ apiKey: api_key });
    return { data: toAccessToken(token) };
  },
});

const agentToken = z.strictObject({ ...accessToken.shape, agent_id: agentParams.shape.agent_id }).meta({ id: 'AgentToken' });

export const issueAgentToken = route({
  method: 'POST',
  path: '/v1/agents/{agent_id}/tokens',
  operationId: 'issueAgentToken',
  summary: 'Create a short-lived token with which an end user can talk to this agent',
  description: `For a browser or another place where no API key may be. The token may only send messages to this agent, streamed or not, and cancel their answers,
in the name of the user of the credential that it is made with. It ends with that credential at the latest, and when that is revoked. Each token
has its own limit of messages.`,
  tag: 'Authentication',
  auth: 'token',
  scope: 'agents:chat',
  cost: 'write',
  idempotent: false,
  extension: true,
  params: agentParams,
  bodyOptional: true,
  body: z.strictObject({
    expires_in: z
      .int()
      .min(1)
      .max(3_600)
      .optional()
      .meta({ description: 'Seconds; 900, or as long as the credential lasts, unless given.', example: 900 }),
  }),
  status: 201,
  response: z.strictObject({ data: agentToken }),
  responseExample: { data: { expires_in: 900, expires_at: '2026-01-31T10:15:00.000Z' } },
  async handler({ params: { agent_id: agentId }, body: { expires_in: expiresIn = 0 } }, { agents, identity }) {
    await agents.getAgent({ agentId });
    const token = await identity.issueAgentToken({ agentId, expiresIn });
    return { data: { ...toAccessToken(token), agent_id: agentId } };
  },
});

const publicKey = z
  .strictObject({
    kty: z.literal('RSA'),
    use: z.literal('sig'),
    alg: z.literal('RS256'),
    kid: z.string(),
    n: z.string(),
    e: z.string(),
  })
  .meta({ id: 'SigningKey' });

export const listSigningKeys = route({
  method: 'GET',
  path: '/.well-known/jwks.json',
  operationId: 'listSigningKeys',
  summary: 'The public keys that access tokens are signed with (RFC 7517)',
  tag: 'Authentication',
  auth: 'none',
  extension: true,
  cacheControl: 'public, max-age=60',
  response: z.strictObject({ keys: z.array(publicKey) }),
  async handler(_request, { publishedKeys }) {
    const keys = await publishedKeys();
    return { keys: keys.map(({ kid, n, e }) => ({ kty: 'RSA' as const, use: 'sig' as const, alg: 'RS256' as const, kid, n, e })) };
  },
});

export const revokeKey = route({
  method: 'DELETE',
  path: '/v1/auth/keys/{key_id}',
  operationId: 'revokeKey',
  summary: 'Revoke an API key and every token made from it',
  description: 'When this has answered, the key and its tokens are refused everywhere. Revoking a key again is a success too.',
  tag: 'Authentication',
  auth: 'token',
  admin: true,
  cost: 'write',
  params: keyParams,
  async handler({ params: { key_id } }, { identity }) {
    await identity.revokeKey({ keyId: key_id });
    return undefined;
  },
});
