import { isoTime } from '@agent-service/store';
import type { UserRow } from '../store/users.ts';

/** A user as the contract carries it. */
export const toUser = ({ id, name, email, role, status, createdAt }: UserRow) => ({
  id,
  name,
  email,
  role,
  status,
  createdAt: isoTime(createdAt),
});
