import type { Client } from '@agent-service/contracts';
import { isEmailAddress, text } from '@agent-service/contracts/text';
import { z } from 'zod';

const maxEmailLength = 254;

export const role = z.enum(['admin', 'member']).meta({ example: 'member' });
export const userStatus = z.enum(['active', 'deactivated']).meta({ example: 'active' });
export const userName = text(1, 100).meta({ example: 'Ada Lovelace' });
export const email = z
  .email({ error: 'must be an e-mail address', abort: true })
  .refine((value) => value.length <= maxEmailLength, { error: `must have at most ${maxEmailLength} characters`, abort: true })
  .refine(isEmailAddress, 'must be an e-mail address')
  .meta({ maxLength: maxEmailLength, example: 'ada@example.com' });

export const userParams = z.strictObject({ user_id: z.string().meta({ example: 'usr_01jz0000000000000000000000' }) });

export const user = z
  .strictObject({
    id: z.string().meta({ example: 'usr_01jz0000000000000000000000' }),
    name: z.string().meta({ example: 'Ada Lovelace' }),
    email: z.string().meta({ example: 'ada@example.com' }),
    role,
    status: userStatus,
    created_at: z.iso.datetime().meta({ example: '2026-01-31T10:00:00.000Z' }),
  })
  .meta({ id: 'User' });

const count = z.int().nonnegative().meta({ example: 1 });

/** A changed user; a deactivation also counts the credentials that ended with it. */
export const updatedUser = z
  .strictObject({
    ...user.shape,
    ended_credentials: z
      .strictObject({ api_keys: count, oauth_applications: count })
      .meta({ id: 'EndedCredentials' })
      .optional()
      .meta({ description: 'Only of a deactivation: how many credentials ended with it.', 'x-extension': true }),
  })
  .meta({ id: 'UpdatedUser' });

type Identity = Client<'identity'>;
type UserMessage = Awaited<ReturnType<Identity['listUsers']>>['users'][number];
type AuditMessage = Awaited<ReturnType<Identity['listAuditEntries']>>['entries'][number];

/** Converts a user of identity to its public form. */
export const toUser = ({ id, name, email, role, status, createdAt }: UserMessage): z.output<typeof user> => ({
  id,
  name,
  email,
  role: role as z.output<typeof user>['role'],
  status: status as z.output<typeof user>['status'],
  created_at: createdAt,
});

export const auditEntry = z
  .strictObject({
    id: z.string().meta({ example: 'aud_01jz0000000000000000000000' }),
    created_at: z.iso.datetime().meta({ example: '2026-01-31T10:00:00.000Z' }),
    actor: z
      .strictObject({
        type: z.string().meta({ description: 'user, service or operator.', example: 'user' }),
        id: z.string().meta({ example: 'usr_01jz0000000000000000000000' }),
        key_id: z
          .string()
          .nullable()
          .meta({ description: 'The API key or OAuth application, where there was one.', example: 'key_01jz0000000000000000000000' }),
      })
      .meta({ id: 'AuditActor' }),
    action: z.string().meta({ example: 'user.updated' }),
    target: z
      .strictObject({
        type: z.string().meta({ example: 'user' }),
        id: z.string().meta({ example: 'usr_01jz0000000000000000000001' }),
      })
      .meta({ id: 'AuditTarget' }),
    outcome: z.string().meta({ example: 'success' }),
    request_id: z.string().meta({ example: '4f3c1f6e-0a55-4c1e-8c53-0a5fbb1e4f0d' }),
    changes: z
      .record(z.string(), z.unknown())
      .meta({ description: 'The changed fields; secrets and prompts are masked.', example: { role: 'admin' } }),
  })
  .meta({ id: 'AuditEntry' });

/** Converts an entry of identity to its public form. */
export const toAuditEntry = (entry: AuditMessage): z.output<typeof auditEntry> => ({
  id: entry.id,
  created_at: entry.createdAt,
  actor: { type: entry.actor?.type ?? '', id: entry.actor?.id ?? '', key_id: entry.actor?.keyId || null },
  action: entry.action,
  target: { type: entry.target?.type ?? '', id: entry.target?.id ?? '' },
  outcome: entry.outcome,
  request_id: entry.requestId,
  changes: entry.changesJson === '' ? {} : JSON.parse(entry.changesJson),
});
