import { required, requirePrincipal } from '@agent-service/contracts';
import { z } from 'zod';
import { route } from '../routing/route.ts';
import {
  application,
  applicationParams,
  credentialName,
  credentialStatus,
  grantedScopes,
  key,
  keyParams,
  newApplication,
  newKey,
  ownerId,
  rotatedKey,
  rotation,
  self,
  toApplication,
  toKey,
  tokenTtl,
} from '../schemas/credential.ts';
import { cursor, limit, listMeta, pageRequest, toListMeta } from '../schemas/list-query.ts';

type Self = z.output<typeof self>;

export const getSelf = route({
  method: 'GET',
  path: '/v1/me',
  operationId: 'getSelf',
  summary: 'View who you are, and what you may do',
  description: 'The user, organization and environment of the credential, its scopes and its limits. Needs no scope.',
  tag: 'Authentication',
  auth: 'token',
  cost: 'read',
  extension: true,
  response: z.strictObject({ data: self }),
  responseExample: {
    data: {
      limits: {
        writes_per_minute: { credential: 120, organization: 600 },
        messages_per_minute: { credential: 60, organization: 300 },
      },
    },
  },
  async handler({ call }, { identity, limits }) {
    const { organizationId, environment, credentialId, scopes, admin, role } = requirePrincipal(call);
    const response = await identity.getSelf({});
    const { id, name, email } = required(response.user);
    return {
      data: {
        user: { id, name, email, kind: response.userKind as Self['user']['kind'], role: role || null },
        organization: { id: organizationId, name: response.organizationName },
        environment,
        credential: {
          id: credentialId,
          type: response.credentialType as Self['credential']['type'],
          name: response.credentialName,
          admin,
          ends_at: response.credentialEndsAt || null,
        },
        scopes: [...scopes],
        limits: {
          reads_per_minute: limits.read,
          writes_per_minute: limits.write,
          messages_per_minute: limits.message,
        },
      },
    };
  },
});

const keyRoute = { tag: 'API keys', auth: 'token', admin: true, extension: true } as const;

export const listKeys = route({
  ...keyRoute,
  method: 'GET',
  path: '/v1/keys',
  operationId: 'listKeys',
  summary: 'List the API keys of the environment, newest first',
  cost: 'read',
  query: z.strictObject({ limit: limit(20, 100), cursor, user_id: ownerId.optional(), status: credentialStatus.optional() }),
  response: z.strictObject({ data: z.array(key), meta: listMeta }),
  errors: ['invalid_cursor'],
  async handler({ query, requestId }, { identity }) {
    const { user_id: userId = '', status = '' } = query;
    const { keys, page } = await identity.listKeys({ page: pageRequest(query), userId, status });
    return { data: keys.map(toKey), meta: toListMeta(page, requestId) };
  },
});

export const createKey = route({
  ...keyRoute,
  method: 'POST',
  path: '/v1/keys',
  operationId: 'createKey',
  summary: 'Create an API key',
  description: `For the caller’s own user or another user, in the environment of the caller. It gets the requested scopes, of those that the caller
has itself and the role of the user allows; without \`scopes\` all of these. The answer shows the key this once.`,
  cost: 'write',
  body: z.strictObject({
    name: credentialName,
    user_id: ownerId.optional().meta({ description: 'The caller’s own user unless said.' }),
    scopes: grantedScopes.optional(),
    admin: z.boolean().default(false).meta({ description: 'An administrator key; only of an administrator.', example: false }),
    token_ttl_seconds: tokenTtl.optional(),
  }),
  status: 201,
  response: z.strictObject({ data: newKey }),
  responseExample: { data: { last_used_at: null } },
  errors: ['invalid_scope', 'insufficient_scope', 'not_found', 'user_deactivated', 'credential_limit_reached'],
  async handler({ body }, { identity }) {
    const response = await identity.issueKey({
      name: body.name,
      userId: body.user_id ?? '',
      scopes: body.scopes ?? [],
      admin: body.admin,
      tokenTtlSeconds: body.token_ttl_seconds ?? 0,
    });
    return { data: { ...toKey(required(response.key)), api_key: response.apiKey } };
  },
});

export const getKey = route({
  ...keyRoute,
  method: 'GET',
  path: '/v1/keys/{key_id}',
  operationId: 'getKey',
  summary: 'View an API key',
  cost: 'read',
  params: keyParams,
  response: z.strictObject({ data: key }),
  async handler({ params: { key_id: keyId } }, { identity }) {
    const response = await identity.getKey({ keyId });
    return { data: toKey(required(response.key)) };
  },
});

export const updateKey = route({
  ...keyRoute,
  method: 'PATCH',
  path: '/v1/keys/{key_id}',
  operationId: 'updateKey',
  summary: 'Change the name, scopes or token lifetime of an API key',
  description: 'When this has answered, scopes that were taken away are refused everywhere, for tokens made from the key as well.',
  cost: 'write',
  params: keyParams,
  body: z.strictObject({
    name: credentialName.optional(),
    scopes: grantedScopes.optional(),
    token_ttl_seconds: tokenTtl.nullable().optional().meta({ description: 'Null: the default.' }),
  }),
  response: z.strictObject({ data: key }),
  errors: ['invalid_scope', 'insufficient_scope', 'user_deactivated', 'credential_ended'],
  async handler({ params: { key_id: keyId }, body: { name, scopes, token_ttl_seconds: ttl } }, { identity }) {
    const response = await identity.updateKey({
      keyId,
      ...(name !== undefined && { name }),
      ...(scopes && { scopes: { values: scopes } }),
      ...(ttl !== undefined && { tokenTtlSeconds: ttl ?? 0 }),
    });
    return { data: toKey(required(response.key)) };
  },
});

export const rotateKey = route({
  ...keyRoute,
  method: 'POST',
  path: '/v1/keys/{key_id}/rotate',
  operationId: 'rotateKey',
  summary: 'Replace an API key',
  description: `Makes a new key with an id of its own for the same user, with the same name, scopes and token lifetime; the answer shows it this once.
The old key, and tokens made from it, stay valid for \`previous_valid_seconds\`. The caller needs every scope that the key has.`,
  cost: 'write',
  params: keyParams,
  body: rotation,
  bodyOptional: true,
  response: z.strictObject({ data: rotatedKey }),
  responseExample: {
    data: { id: 'key_01jz0000000000000000000001', last_used_at: null, previous: { ends_at: '2026-01-31T11:00:00.000Z' } },
  },
  errors: ['insufficient_scope', 'user_deactivated', 'credential_ended'],
  async handler({ params: { key_id: keyId }, body }, { identity }) {
    const response = await identity.rotateKey({ keyId, previousValidSeconds: body.previous_valid_seconds });
    const previous = { id: keyId, ends_at: response.previousEndsAt };
    return { data: { ...toKey(required(response.key)), api_key: response.apiKey, previous } };
  },
});

const applicationRoute = { ...keyRoute, tag: 'OAuth applications' } as const;

export const listOauthApplications = route({
  ...applicationRoute,
  method: 'GET',
  path: '/v1/oauth-applications',
  operationId: 'listOauthApplications',
  summary: 'List the OAuth applications of the environment, newest first',
  cost: 'read',
  query: z.strictObject({ limit: limit(20, 100), cursor, status: credentialStatus.optional() }),
  response: z.strictObject({ data: z.array(application), meta: listMeta }),
  errors: ['invalid_cursor'],
  async handler({ query, requestId }, { identity }) {
    const { applications, page } = await identity.listOauthApplications({ page: pageRequest(query), status: query.status ?? '' });
    return { data: applications.map(toApplication), meta: toListMeta(page, requestId) };
  },
});

export const createOauthApplication = route({
  ...applicationRoute,
  method: 'POST',
  path: '/v1/oauth-applications',
  operationId: 'createOauthApplication',
  summary: 'Register an OAuth application',
  description: `In the environment of the caller. Without \`user_id\` it gets a service user of its own, who is charged for its answers; a credential of the
test environment adds no users and has to name one. It gets the requested scopes, of those that the caller has itself; without \`scopes\` all of
these. The answer shows the secret this once.`,
  cost: 'write',
  body: z.strictObject({
    name: credentialName,
    user_id: ownerId.optional().meta({ description: 'An existing user, whose role then limits the scopes.' }),
    scopes: grantedScopes.optional(),
  }),
  status: 201,
  response: z.strictObject({ data: newApplication }),
  responseExample: { data: { last_used_at: null } },
  errors: ['invalid_scope', 'insufficient_scope', 'not_found', 'user_deactivated', 'credential_limit_reached'],
  async handler({ body: { name, user_id: userId = '', scopes = [] } }, { identity }) {
    const response = await identity.issueOauthApplication({ name, userId, scopes });
    return { data: { ...toApplication(required(response.application)), client_secret: response.clientSecret } };
  },
});

export const getOauthApplication = route({
  ...applicationRoute,
  method: 'GET',
  path: '/v1/oauth-applications/{application_id}',
  operationId: 'getOauthApplication',
  summary: 'View an OAuth application',
  cost: 'read',
  params: applicationParams,
  response: z.strictObject({ data: application }),
  async handler({ params: { application_id: applicationId } }, { identity }) {
    const response = await identity.getOauthApplication({ applicationId });
    return { data: toApplication(required(response.application)) };
  },
});

export const updateOauthApplication = route({
  ...applicationRoute,
  method: 'PATCH',
  path: '/v1/oauth-applications/{application_id}',
  operationId: 'updateOauthApplication',
  summary: 'Change the name or scopes of an OAuth application',
  description: 'When this has answered, scopes that were taken away are refused everywhere, for tokens issued before as well.',
  cost: 'write',
  params: applicationParams,
  body: z.strictObject({ name: credentialName.optional(), scopes: grantedScopes.optional() }),
  response: z.strictObject({ data: application }),
  errors: ['invalid_scope', 'insufficient_scope', 'user_deactivated', 'credential_ended'],
  async handler({ params: { application_id: applicationId }, body: { name, scopes } }, { identity }) {
    const response = await identity.updateOauthApplication({
      applicationId,
      ...(name !== undefined && { name }),
      ...(scopes && { scopes: { values: scopes } }),
    });
    return { data: toApplication(required(response.application)) };
  },
});

export const rotateOauthSecret = route({
  ...applicationRoute,
  method: 'POST',
  path: '/v1/oauth-applications/{application_id}/rotate',
  operationId: 'rotateOauthSecret',
  summary: 'Replace the secret of an OAuth application',
  description: `The \`client_id\` stays; the answer shows the new secret this once. The old secret is accepted for \`previous_valid_seconds\`; with 0
every token issued before ends with it. Another rotation in this time ends the older secret at once. The caller needs every scope that the application has.`,
  cost: 'write',
  params: applicationParams,
  body: rotation,
  bodyOptional: true,
  response: z.strictObject({ data: newApplication }),
  responseExample: { data: { previous_secret_ends_at: '2026-01-31T11:00:00.000Z' } },
  errors: ['insufficient_scope', 'user_deactivated', 'credential_ended'],
  async handler({ params: { application_id: applicationId }, body }, { identity }) {
    const response = await identity.rotateOauthSecret({ applicationId, previousValidSeconds: body.previous_valid_seconds });
    return { data: { ...toApplication(required(response.application)), client_secret: response.clientSecret } };
  },
});

export const revokeOauthApplication = route({
  ...applicationRoute,
  method: 'DELETE',
  path: '/v1/oauth-applications/{application_id}',
  operationId: 'revokeOauthApplication',
  summary: 'Revoke an OAuth application and every token issued to it',
  description: 'When this has answered, its secrets and tokens are refused everywhere. Revoking it again is a success too.',
  cost: 'write',
  params: applicationParams,
  async handler({ params: { application_id: clientId } }, { identity }) {
    await identity.revokeOauthClient({ clientId });
    return undefined;
  },
});
