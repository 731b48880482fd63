import { type Call, callersAndOperators, createFairLimiter, type RpcOf, ServiceError, services, tenantOf } from '@agent-service/contracts';
import { boundChangesJson, isoTime, isStatementTimeout, lastOf, limitOf, type Sql, type Store } from '@agent-service/store';
import type { IdentityDeps } from '../deps.ts';
import { type AuditRecord, appendAudit } from '../store/audit-append.ts';
import { type AuditFilter, type AuditRow, countAudit, isFiltered, listAudit } from '../store/audit-list.ts';

const maxTextLength = 1_000;

/** The subjects that the actions of each service begin with. A service that was taken over writes no entry in the name of another service. */
const subjectsOf: Readonly<Record<string, readonly string[]>> = {
  agents: ['agent', 'business_data', 'conversation', 'data_source', 'template'],
  credits: ['credits'],
  webhooks: ['webhook'],
};

export const appendAuditEntries = ({ store, auditKeys }: IdentityDeps): RpcOf<'identity', 'appendAuditEntries'> => ({
  allow: services('agents', 'credits', 'webhooks'),
  async handle({ entries }, { caller }) {
    const subjects = subjectsOf[caller.service] ?? [];
    for (const { action } of entries)
      if (!subjects.includes(action.split('.')[0] ?? ''))
        throw invalidEntry('action', `${caller.service} writes no entries of this action.`);
    await appendAudit(
      store,
      auditKeys,
      entries.map((entry) => checkRecord(toRecord(entry))),
    );
    return {};
  },
});

type Entry = Parameters<RpcOf<'identity', 'appendAuditEntries'>['handle']>[0]['entries'][number];

function toRecord(entry: Entry): AuditRecord {
  const { actor, target, ...rest } = entry;
  const actorTexts = { actorType: actor?.type ?? '', actorId: actor?.id ?? '', actorKeyId: actor?.keyId ?? '' };
  return { ...rest, ...actorTexts, targetType: target?.type ?? '', targetId: target?.id ?? '' };
}

/**
 * Rejects entries that cannot be stored or read back, so that the sender can tell them from a failure of this service. A row of the outbox
 * may be of any form: writing that table needs no key.
 */
export function checkRecord(record: AuditRecord): AuditRecord {
  const { id, organizationId, createdAt, changesJson } = record;
  if (id === '' || organizationId === '') throw invalidEntry('id', 'An entry has an id and an organization.');
  if (!isTime(createdAt)) throw invalidEntry('created_at', 'created_at must be a time.');
  if (!isObject(changesJson)) throw invalidEntry('changes_json', 'changes_json must hold an object.');
  const texts = {
    id,
    organizationId,
    environment: record.environment,
    actorType: record.actorType,
    actorId: record.actorId,
    actorKeyId: record.actorKeyId,
    action: record.action,
    targetType: record.targetType,
    targetId: record.targetId,
    outcome: record.outcome,
    requestId: record.requestId,
  };
  const invalid = Object.entries(texts).find(([, text]) => typeof text !== 'string' || text.length > maxTextLength || text.includes('\0'));
  if (invalid) throw invalidEntry(invalid[0], `${invalid[0]} must be a text of at most ${maxTextLength} characters, none of them NUL.`);
  // The time in the form in which it is read back, because the hash covers the text.
  return { ...texts, createdAt: new Date(createdAt).toISOString(), changesJson };
}

const invalidEntry = (param: string, message: string) => new ServiceError('invalid_request', { message, param });

/** A time in a year that PostgreSQL and ISO 8601 write with four digits. */
function isTime(text: unknown): boolean {
  const time = typeof text === 'string' ? Date.parse(text) : Number.NaN;
  return time >= 0 && time < Date.UTC(10_000, 0);
}

function isObject(json: unknown): boolean {
  if (json === '') return true;
  // PostgreSQL cannot store NUL.
  if (typeof json !== 'string' || json.includes('\0')) return false;
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

/** A read with filters may look at every entry of an organization: at most two of the connections are busy with such reads. */
const filteredLimits = { permits: 2, maxWaiting: 20 };
/** How long the statements of such a read may take together: reads of other organizations wait for them. */
const filteredReadMs = 2_000;

export const listAuditEntries = ({ store, cursors }: IdentityDeps): RpcOf<'identity', 'listAuditEntries'> => {
  const filteredReads = createFairLimiter(filteredLimits);
  return {
    allow: callersAndOperators({ scope: 'audit:read' }),
    async handle({ page, actor, action, target, dateFrom, dateTo }, call) {
      const { organizationId, environment } = tenantOf(call);
      const limit = limitOf(page, 50, 200);
      const filter = { actor, action, target, dateFrom, dateTo };
      const binding = ['audit', organizationId, environment, filter];
      const start = cursors.decode(binding, page?.cursor ?? '');
      const read = async (sql: Sql) => {
        const rows = await listAudit(sql, organizationId, environment, filter, start?.after, limit);
        call.checkDeadline();
        return { rows, total: await totalOf(start?.total, filter, () => countAudit(sql, organizationId, environment, filter)) };
      };
      const { rows, total } = await (isFiltered(filter)
        ? filteredReads.run(organizationId, () => readWithin(store, call, read), call.signal)
        : read(store.sql));
      const last = lastOf(rows, limit);
      const nextCursor = last ? cursors.encode(binding, { after: [isoTime(last.createdAt), last.id], total }) : '';
      return { entries: rows.slice(0, limit).map((row) => toEntry(organizationId, row)), page: { total, nextCursor } };
    },
  };
};

/** Ends the statements of a filtered read with the time of its caller, and sooner where the log is too long for its filters. */
async function readWithin<T>(store: Store, call: Call, read: (sql: Sql) => Promise<T>): Promise<T> {
  call.checkDeadline();
  const readOn = async (sql: Sql) => {
    // A wait for the connection says nothing about the log.
    const endsAt = Math.min(performance.now() + filteredReadMs, call.expiresAt);
    const limited: Sql = async (statement, values) => {
      const leftMs = Math.max(1, Math.floor(endsAt - performance.now()));
      await sql(`select set_config('statement_timeout', $1, true)`, [String(leftMs)]);
      return await sql(statement, values);
    };
    try {
      return await read(limited);
    } catch (cause) {
      if (!isStatementTimeout(cause)) throw cause;
      if (endsAt === call.expiresAt) throw new ServiceError('deadline_exceeded', { cause });
      // No replica would be faster, so it is not `unavailable`, after which the call is sent to the next replica.
      throw new ServiceError('invalid_request', { message: tooLong, param: 'date_from', cause });
    }
  };
  return await store.transaction(({ sql }) => readOn(sql), { statementLimitMs: filteredReadMs });
}

const tooLong =
  'The audit log is too long to find and count the entries of these filters. Choose a shorter time with date_from and date_to.';

/** The matches of a filter are counted on the first page, and the cursor carries the count; without a filter a counter has it. */
const totalOf = async (counted: number | undefined, filter: AuditFilter, count: () => Promise<number>): Promise<number> =>
  counted !== undefined && isFiltered(filter) ? counted : count();

const toEntry = (organizationId: string, row: AuditRow) => ({
  id: row.id,
  createdAt: isoTime(row.createdAt),
  actor: { type: row.actorType, id: row.actorId, keyId: row.actorKeyId },
  action: row.action,
  target: { type: row.targetType, id: row.targetId },
  outcome: row.outcome,
  requestId: row.requestId,
  // Earlier versions stored changes of any size.
  changesJson: boundChangesJson(row.changesJson),
  organizationId,
  environment: row.environment,
});
