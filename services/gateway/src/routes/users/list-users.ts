import { z } from 'zod';
import { route } from '../../routing/route.ts';
import { cursor, limit, listMeta, pageRequest, toListMeta } from '../../schemas/list-query.ts';
import { role, toUser, user, userStatus } from '../../schemas/user.ts';

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
