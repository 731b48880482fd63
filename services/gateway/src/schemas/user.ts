import { z } from 'zod';
import { text } from './text.ts';

const maxEmailLength = 254;

export const role = z.enum(['admin', 'member']).meta({ example: 'member' });
export const userStatus = z.enum(['active', 'deactivated']).meta({ example: 'active' });
export const userName = text(1, 100).meta({ example: 'Ada Lovelace' });
export const email = z
  .email('must be an e-mail address')
  .refine((value) => value.length <= maxEmailLength, `must have at most ${maxEmailLength} characters`)
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

/** What a change answers with: a deactivation says what ended with it. */
export const updatedUser = z.strictObject({
  ...user.shape,
  ended_credentials: z
    .strictObject({ api_keys: count, oauth_applications: count })
    .optional()
    .meta({ description: 'Only of a deactivation: how many credentials ended with it.', override: { 'x-extension': true } }),
});

interface UserMessage {
  id: string;
  name: string;
  email: string;
  role: string;
  status: string;
  createdAt: string;
}

/** A user as identity returns it, as callers see it. */
export const toUser = ({ id, name, email, role, status, createdAt }: UserMessage): z.output<typeof user> => ({
  id,
  name,
  email,
  role: role as z.output<typeof user>['role'],
  status: status as z.output<typeof user>['status'],
  created_at: createdAt,
});
