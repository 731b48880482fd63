import { z } from 'zod';

export const auditEntry = z
  .strictObject({
    id: z.string().meta({ example: 'aud_01jz0000000000000000000000' }),
    created_at: z.iso.datetime().meta({ example: '2026-01-31T10:00:00.000Z' }),
    actor: z.strictObject({
      type: z.string().meta({ description: 'user, service or operator.', example: 'user' }),
      id: z.string().meta({ example: 'usr_01jz0000000000000000000000' }),
      key_id: z
        .string()
        .nullable()
        .meta({ description: 'The API key or OAuth application, where there was one.', example: 'key_01jz0000000000000000000000' }),
    }),
    action: z.string().meta({ example: 'user.updated' }),
    target: z.strictObject({
      type: z.string().meta({ example: 'user' }),
      id: z.string().meta({ example: 'usr_01jz0000000000000000000000' }),
    }),
    outcome: z.string().meta({ example: 'success' }),
    request_id: z.string(),
    changes: z
      .record(z.string(), z.unknown())
      .meta({ description: 'What changed; secrets and prompts are masked.', example: { role: 'admin' } }),
  })
  .meta({ id: 'AuditEntry' });

interface AuditMessage {
  id: string;
  createdAt: string;
  actor: { type: string; id: string; keyId: string } | null;
  action: string;
  target: { type: string; id: string } | null;
  outcome: string;
  requestId: string;
  changesJson: string;
}

/** An entry as identity returns it, as callers see it. */
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
