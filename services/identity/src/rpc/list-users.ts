import { callers, type RpcOf } from '@agent-service/contracts';
import { isoTime } from '@agent-service/store';
import type { IdentityContext } from '../context.ts';
import { countUsers, listUsers as selectUsers } from '../store/users.ts';
import { toUser } from './user-message.ts';

export const listUsers = ({ store, cursors }: IdentityContext): RpcOf<'identity', 'listUsers'> => ({
  allow: callers({ scope: 'users:read' }),
  async handle({ page, role, status }, call) {
    const { organizationId } = call.tenant;
    const limit = page?.limit || 20;
    const binding = ['users', organizationId, role, status];
    const start = cursors.decode(binding, page?.cursor ?? '');
    const [rows, total] = await Promise.all([
      selectUsers(store.sql, organizationId, { role, status }, start?.after, limit),
      countUsers(store.sql, organizationId, { role, status }),
    ]);
    const last = rows.length > limit ? rows[limit - 1] : undefined;
    const nextCursor = last ? cursors.encode(binding, { after: [isoTime(last.createdAt), last.id] }) : '';
    return { users: rows.slice(0, limit).map(toUser), page: { total, nextCursor } };
  },
});
