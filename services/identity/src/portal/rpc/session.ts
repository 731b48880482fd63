import { randomBytes } from 'node:crypto';
import { type Call, newId, ServiceError, services } from '@agent-service/contracts';
import { type Transaction, writeAudit } from '@agent-service/store';
import type { IdentityDeps } from '../../deps.ts';
import { makeRandomText } from '../../domain/secrets.ts';
import { lockActiveUser, lockSignInOf } from '../../store/users.ts';
import { removeResets } from '../store/invitations.ts';
import { type SignInUser, savePassword } from '../store/passwords.ts';
import {
  addSession,
  endSessionOf,
  endSessionsOf,
  findSession,
  lockSession,
  type SessionMethod,
  type SessionRow,
} from '../store/sessions.ts';
import { deleteUnconfirmedSecret } from '../store/two-factors.ts';

/** Only the portal may call. The token of a session proves for which user it calls, and it can act for no other user. */
export const portal = services('portal');

const tokenCharacters = 43;
/** A new secret for a link or a cookie: 256 bits. */
export const makeToken = (): string => makeRandomText(tokenCharacters, randomBytes);

const maxUserAgentLength = 300;
const maxAddressLength = 64;

/** The valid session of a token. */
export async function requireSession({ store, keyedHash }: IdentityDeps, sessionToken: string): Promise<SessionRow> {
  const session = sessionToken === '' ? undefined : await findSession(store.sql, keyedHash(sessionToken));
  if (!session) throw new ServiceError('unauthorized');
  return session;
}

/** The session of an administrator. */
export async function requireAdministrator(deps: IdentityDeps, sessionToken: string): Promise<SessionRow> {
  const session = await requireSession(deps, sessionToken);
  if (session.role !== 'admin') throw administratorsOnly();
  return session;
}

/** Throws if the user is no administrator any more, or the session has ended. The locks make a demotion and that end wait for the transaction. */
export async function lockAdministrator(sql: Transaction['sql'], session: SessionRow): Promise<void> {
  if ((await lockActiveUser(sql, session.organizationId, session.userId)) !== 'admin') throw administratorsOnly();
  if (!(await lockSession(sql, session))) throw new ServiceError('unauthorized');
}

const administratorsOnly = () => new ServiceError('admin_required', { message: 'Only administrators may do this.' });

export const tooMany = (seconds: number): ServiceError =>
  new ServiceError('rate_limited', {
    message: `Too many attempts. Try again in ${seconds} seconds.`,
    details: { retry_after_seconds: seconds },
  });

/** The user of a session as the author of an audit entry. */
export const actorOf = ({ userId, id }: Pick<SessionRow, 'userId' | 'id'>) => ({ type: 'user', id: userId, keyId: id });

export const toPortalSession = (session: SessionRow) => ({
  id: session.id,
  user: {
    id: session.userId,
    name: session.name,
    email: session.email,
    role: session.role,
    status: 'active',
    createdAt: session.createdAt,
  },
  organizationId: session.organizationId,
  organizationName: session.organizationName,
  twoFactor: session.hasTwoFactor,
  hasPassword: session.hasPassword,
  expiresAt: session.expiresAt,
});

/** The reply to a user who has just signed in. */
export const openedSession = async (deps: IdentityDeps, sessionToken: string) => ({
  opened: { sessionToken, session: toPortalSession(await requireSession(deps, sessionToken)) },
});

export interface PortalClient {
  readonly address: string;
  readonly countedAddress: string;
  readonly userAgent: string;
}

interface Opening {
  readonly method: SessionMethod;
  readonly client: PortalClient | null;
  /** The token of the session that the browser had before. It ends, so that its token is of no use any more. */
  readonly previousToken: string;
}

/** Opens a session under a new token, in the transaction of its cause. */
export async function openSession(
  { sql }: Transaction,
  { keyedHash, sessions }: IdentityDeps,
  call: Call,
  user: Pick<SignInUser, 'organizationId' | 'userId'>,
  { method, client, previousToken }: Opening,
): Promise<string> {
  const { organizationId, userId } = user;
  // Sessions of one user are opened one after the other, so that each counts those before it.
  await lockSignInOf(sql, organizationId, userId);
  const token = makeToken();
  const id = newId('ses');
  const address = (client?.address ?? '').slice(0, maxAddressLength);
  const userAgent = printable(client?.userAgent ?? '').slice(0, maxUserAgentLength);
  const previous = previousToken === '' ? undefined : await findSession(sql, keyedHash(previousToken));
  if (previous) await endOwnSession(sql, call, previous, previous.id);
  await addSession(sql, { id, organizationId, userId, tokenHash: keyedHash(token), method, address, userAgent, ...sessions });
  await writeAudit(sql, call, {
    action: 'session.created',
    organizationId,
    environment: '',
    target: { type: 'session', id },
    actor: actorOf({ userId, id }),
    changes: { method, address },
  });
  return token;
}

/** Ends one session of the user of `session`, with an audit entry; false if there is none. */
export async function endOwnSession(sql: Transaction['sql'], call: Call, session: SessionRow, id: string): Promise<boolean> {
  const { organizationId, userId } = session;
  const isEnded = await endSessionOf(sql, organizationId, userId, id);
  const target = { type: 'session', id };
  if (isEnded) await writeAudit(sql, call, { action: 'session.ended', organizationId, environment: '', target, actor: actorOf(session) });
  return isEnded;
}

interface NewPassword {
  readonly hash: string;
  /** The session that stays. */
  readonly exceptId?: string;
  /** The author of the audit entry; without it, the caller of the method. */
  readonly actor?: ReturnType<typeof actorOf>;
  readonly removesTwoFactor?: boolean;
}

/**
 * Sets a user's password in the transaction of its cause, which ends every other session, an open reset, and a second factor that was begun
 * with the password before. Returns how many sessions it ended.
 */
export async function replacePassword(
  { sql }: Transaction,
  call: Call,
  user: Pick<SignInUser, 'organizationId' | 'userId'>,
  { hash, exceptId, actor, removesTwoFactor }: NewPassword,
): Promise<number> {
  const { organizationId, userId } = user;
  await lockSignInOf(sql, organizationId, userId);
  await savePassword(sql, organizationId, userId, hash);
  await removeResets(sql, organizationId, userId);
  await deleteUnconfirmedSecret(sql, user);
  const ended = await endSessionsOf(sql, organizationId, userId, exceptId);
  await writeAudit(sql, call, {
    action: 'password.changed',
    organizationId,
    environment: '',
    target: { type: 'user', id: userId },
    changes: { ...(ended.length > 0 && { ended_sessions: ended }), ...(removesTwoFactor && { two_factor: 'removed' }) },
    ...(actor && { actor }),
  });
  return ended.length;
}

/** PostgreSQL stores no NUL character, and a log line no line break. */
const printable = (text: string) => text.replaceAll(/[^\x20-\x7e]/g, ' ');
