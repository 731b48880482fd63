import { type RpcOf, ServiceError, services } from '@agent-service/contracts';
import type { IdentityContext } from '../context.ts';
import { type AuditRecord, appendAudit } from '../store/audit-append.ts';

const longestText = 1_000;

export const appendAuditEntries = ({ store, auditKeys }: IdentityContext): RpcOf<'identity', 'appendAuditEntries'> => ({
  allow: services('agents', 'templates', 'credits', 'webhooks'),
  async handle({ entries }) {
    await appendAudit(store, auditKeys, entries.map(toRecord));
    return {};
  },
});

type Entry = Parameters<RpcOf<'identity', 'appendAuditEntries'>['handle']>[0]['entries'][number];

/** Refuses what could not be stored or read back, so that the sender can tell it from a failure of this service. */
function toRecord(entry: Entry): AuditRecord {
  const { id, organizationId, createdAt, changesJson } = entry;
  if (id === '' || organizationId === '') throw refused('id', 'An entry has an id and an organization.');
  if (!isTime(createdAt)) throw refused('created_at', 'created_at must be a time.');
  if (!isObject(changesJson)) throw refused('changes_json', 'changes_json must hold an object.');
  const texts = {
    id,
    organizationId,
    environment: entry.environment,
    actorType: entry.actor?.type ?? '',
    actorId: entry.actor?.id ?? '',
    actorKeyId: entry.actor?.keyId ?? '',
    action: entry.action,
    targetType: entry.target?.type ?? '',
    targetId: entry.target?.id ?? '',
    outcome: entry.outcome,
    requestId: entry.requestId,
  };
  const wrong = Object.entries(texts).find(([, text]) => text.length > longestText || text.includes('\0'));
  if (wrong) throw refused(wrong[0], `${wrong[0]} must have at most ${longestText} characters, none of them NUL.`);
  // As it is read back: the hash covers the text.
  return { ...texts, createdAt: new Date(createdAt).toISOString(), changesJson };
}

const refused = (param: string, message: string) => new ServiceError('invalid_request', { message, param });

/** Of the years that PostgreSQL and ISO 8601 write with four digits. */
function isTime(text: string): boolean {
  const time = Date.parse(text);
  return time >= 0 && time < Date.UTC(10_000, 0);
}

function isObject(json: string): boolean {
  if (json === '') return true;
  // PostgreSQL keeps no NUL.
  if (json.includes('\0')) return false;
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}
