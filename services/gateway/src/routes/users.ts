import { required } from '@agent-service/contracts';
import { text } from '@agent-service/contracts/text';
import { z } from 'zod';
import { route } from '../routing/route.ts';
import { cursor, isoDate, limit, listMeta, pageRequest, toListMeta, toRange } from '../schemas/list-query.ts';
import { auditEntry, email, role, toAuditEntry, toUser, updatedUser, user, userName, userParams, userStatus } from '../schemas/user.ts';

export const createUser = route({
  method: 'POST',
  path: '/v1/users',
  operationId: 'createUser',
  summary: 'Register a user',
  description:
    'Registering an administrator needs a token made from an administrator key. A credential of the test environment cannot change users.',
  tag: 'Users',
  auth: 'token',
  scope: 'users:write',
  cost: 'write',
  extension: true,
  body: z.strictObject({ name: userName, email, role: role.default('member') }),
  status: 201,
  response: z.strictObject({ data: user }),
  errors: ['email_taken', 'admin_required'],
  async handler({ body }, { identity }) {
    const response = await identity.createUser(body);
    return { data: toUser(required(response.user)) };
  },
});

export const getUser = route({
  method: 'GET',
  path: '/v1/users/{user_id}',
  operationId: 'getUser',
  summary: 'View a user',
  tag: 'Users',
  auth: 'token',
  scope: 'users:read',
  cost: 'read',
  extension: true,
  params: userParams,
  response: z.strictObject({ data: user }),
  async handler({ params: { user_id } }, { identity }) {
    const response = await identity.getUser({ userId: user_id });
    return { data: toUser(required(response.user)) };
  },
});

const auditFilter = text(1, 200).optional();

export const listAuditEntries = route({
  method: 'GET',
  path: '/v1/audit',
  operationId: 'listAuditEntries',
  summary: 'List the audit log, newest first',
  description: 'A log that is too long for its filters to be read in two seconds is refused with 400: choose a shorter time.',
  tag: 'Audit',
  auth: 'token',
  scope: 'audit:read',
  cost: 'read',
  extension: true,
  query: z.strictObject({
    limit: limit(50, 200),
    cursor,
    actor: auditFilter.meta({ description: 'Id of who acted.' }),
    action: auditFilter.meta({ description: 'As `user.updated`.' }),
    target: auditFilter.meta({ description: 'Id of what was acted on.' }),
    date_from: isoDate.optional(),
    date_to: isoDate.optional().meta({ description: 'A date includes its day; a time is not included itself.' }),
  }),
  response: z.strictObject({ data: z.array(auditEntry), meta: listMeta }),
  errors: ['invalid_cursor'],
  async handler({ query, requestId }, { identity }) {
    const { actor = '', action = '', target = '' } = query;
    const { entries, page } = await identity.listAuditEntries({ page: pageRequest(query), actor, action, target, ...toRange(query) });
    return { data: entries.map(toAuditEntry), meta: toListMeta(page, requestId) };
  },
});

export const listUsers = route({
  method: 'GET',
  path: '/v1/users',
  operationId: 'listUsers',
  summary: 'List the users of the organization, newest first',
  tag: 'Users',
  auth: 'token',
  scope: 'users:read',
  cost: 'read',
  extension: true,
  query: z.strictObject({ limit: limit(20, 100), cursor, role: role.optional(), status: userStatus.optional() }),
  response: z.strictObject({ data: z.array(user), meta: listMeta }),
  errors: ['invalid_cursor'],
  async handler({ query, requestId }, { identity }) {
    const { users, page } = await identity.listUsers({ page: pageRequest(query), role: query.role ?? '', status: query.status ?? '' });
    return { data: users.map(toUser), meta: toListMeta(page, requestId) };
  },
});

export const updateUser = route({
  method: 'PATCH',
  path: '/v1/users/{user_id}',
  operationId: 'updateUser',
  summary: 'Change a user',
  description: `Deactivating a user ends the user’s API keys and applications; the answer says how many. A demotion binds at once, for tokens
issued before as well. Making, demoting or deactivating an administrator, and changing the e-mail address of a person, needs a token made from an administrator
key; a new address ends the person’s sessions in the portal. Your own role and status can only be changed by another administrator, and the last active administrator stays. A credential of the test environment cannot change users.`,
  tag: 'Users',
  auth: 'token',
  scope: 'users:write',
  cost: 'write',
  extension: true,
  params: userParams,
  body: z
    .strictObject({ name: userName.optional(), email: email.optional(), role: role.optional(), status: userStatus.optional() })
    // An address can be in use already.
    .meta({ example: { name: 'Ada Lovelace', role: 'member' } }),
  response: z.strictObject({ data: updatedUser }),
  responseExample: { data: { ended_credentials: undefined } },
  errors: ['email_taken', 'last_admin', 'own_role_or_status', 'admin_required'],
  async handler({ params: { user_id }, body }, { identity }) {
    const changes = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined));
    const response = await identity.updateUser({ userId: user_id, ...changes });
    const ended = response.endedCredentials;
    return {
      data: {
        ...toUser(required(response.user)),
        ...(ended && { ended_credentials: { api_keys: ended.apiKeys, oauth_applications: ended.oauthApplications } }),
      },
    };
  },
});
