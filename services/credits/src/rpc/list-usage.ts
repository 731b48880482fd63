import { callers, type RpcOf } from '@agent-service/contracts';
import { isoTime } from '@agent-service/store';
import type { CreditsContext } from '../context.ts';
import { recordRange } from '../domain/usage.ts';
import { countUsage, listRecords, type RecordAfter, type UsageRow } from '../store/usage-records.ts';
import { bindingOf, boundsOf, limitOf, scopeOf, valid } from './usage-request.ts';

export const listUsage = ({ store, cursors }: CreditsContext): RpcOf<'credits', 'listUsage'> => ({
  allow: callers({ scope: 'credits:read' }),
  async handle({ page, filter }, call) {
    const scope = scopeOf(call.tenant, filter);
    const range = valid(recordRange(boundsOf(filter)));
    const limit = limitOf(page);
    const binding = bindingOf('usage', scope, filter);
    const start = cursors.decode(binding, page?.cursor ?? '');
    const [rows, total] = await Promise.all([
      listRecords(store.sql, scope, range, limit, start?.after as RecordAfter | undefined),
      countUsage(store.sql, scope, range),
    ]);
    const last = rows.length > limit ? rows[limit - 1] : undefined;
    const nextCursor = last ? cursors.encode(binding, { after: [isoTime(last.at), last.id] }) : '';
    return { records: rows.slice(0, limit).map(toRecord), page: { total, nextCursor } };
  },
});

const toRecord = ({ credits, tier, at, ...row }: UsageRow) => ({ ...row, creditsConsumed: credits, model: tier, timestamp: isoTime(at) });
