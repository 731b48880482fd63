import { type Implementation, operators, ServiceError } from '@agent-service/contracts';
import { isoTime } from './sql.ts';
import type { Store } from './store.ts';

const mostAtOnce = 200;

interface DeadLetterRow {
  id: string;
  topic: string;
  organizationId: string;
  reason: string;
  attempts: number;
  bytes: number;
  createdAt: string;
  deadAt: string;
}

const columns = `id, topic, organization_id as "organizationId", reason, attempts, bytes, created_at as "createdAt", dead_at as "deadAt"`;

type OutboxMethods = Pick<Implementation<'agents'>, 'listDeadLetters' | 'retryDeadLetters'>;

/** What operators may do with messages that were set aside, for every service that has an outbox. */
export const outboxMethods = ({ sql }: Pick<Store, 'sql'>, onRetry: () => void): OutboxMethods => ({
  listDeadLetters: {
    allow: operators,
    async handle({ limit, afterId }) {
      const most = Math.min(limit || mostAtOnce, mostAtOnce);
      const rows = await sql<DeadLetterRow>(`select ${columns} from dead_letters where id > $1 order by id limit $2`, [afterId, most]);
      const deadLetters = rows.map((row) => ({ ...row, createdAt: isoTime(row.createdAt), deadAt: isoTime(row.deadAt) }));
      return { deadLetters };
    },
  },
  retryDeadLetters: {
    allow: operators,
    async handle({ ids }) {
      if (ids.length > mostAtOnce)
        throw new ServiceError('invalid_request', { message: `At most ${mostAtOnce} ids in a call.`, param: 'ids' });
      const rows = await sql(
        `with removed as (delete from dead_letters where id = any($1) returning *)
         insert into outbox (id, topic, payload, created_at) select id, topic, payload, created_at from removed
         on conflict (id) do nothing returning 1`,
        [ids],
      );
      if (rows.length > 0) onRetry();
      return { retried: rows.length };
    },
  },
});
