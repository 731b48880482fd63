import type { Tenant } from '@agent-service/contracts';
import { isoTime, type Sql } from '@agent-service/store';

/** A notice to the administrators that the service disabled a webhook. */
export interface DisabledNotice {
  endpointId: string;
  url: string;
  /** The receiver answered 410, or failed for too long. */
  reason: 'gone' | 'failing';
  failingSince: string;
  disabledAt: string;
}

export interface NoticeRow extends Tenant {
  id: string;
  notice: DisabledNotice;
  tries: number;
  createdAt: string;
}

const addNoticeStatement =
  'insert into notices (organization_id, environment, id, notice, try_at, created_at) values ($1, $2, $3, $4, $5, $5)';

export async function addNotice(
  sql: Sql,
  { organizationId, environment }: Tenant,
  id: string,
  notice: DisabledNotice,
  at: number,
): Promise<void> {
  await sql(addNoticeStatement, [organizationId, environment, id, JSON.stringify(notice), isoTime(at)]);
}

const claimNoticeStatement = `
  select organization_id as "organizationId", environment, id, notice, tries, created_at as "createdAt" from notices
  where try_at <= $1 order by try_at limit 1 for update skip locked`;

const postponeNoticeStatement =
  'update notices set try_at = $4, tries = tries + 1 where organization_id = $1 and environment = $2 and id = $3';

/** Claims the next notice that is due, and schedules its next attempt in case this one fails. */
export async function claimNotice(sql: Sql, now: number, nextTryAt: (tries: number) => number): Promise<NoticeRow | undefined> {
  const [row] = await sql<NoticeRow>(claimNoticeStatement, [isoTime(now)]);
  if (!row) return undefined;
  await sql(postponeNoticeStatement, [row.organizationId, row.environment, row.id, isoTime(nextTryAt(row.tries))]);
  return row;
}

const removeNoticeStatement = 'delete from notices where organization_id = $1 and environment = $2 and id = $3';

export async function removeNotice(
  sql: Sql,
  { organizationId, environment, id }: Pick<NoticeRow, 'organizationId' | 'environment' | 'id'>,
): Promise<void> {
  await sql(removeNoticeStatement, [organizationId, environment, id]);
}

export const noticeStatements = {
  addNotice: addNoticeStatement,
  claimNotice: claimNoticeStatement,
  postponeNotice: postponeNoticeStatement,
  removeNotice: removeNoticeStatement,
};
