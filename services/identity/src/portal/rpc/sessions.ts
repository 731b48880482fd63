import { checkEnvironment, checkId, type RpcOf, ServiceError, scopesOfRole } from '@agent-service/contracts';
import { processClock } from '@agent-service/runtime';
import { runChange, writeAudit } from '@agent-service/store';
import type { IdentityDeps } from '../../deps.ts';
import { signToken } from '../../rpc/tokens.ts';
import { lockSignInOf } from '../../store/users.ts';
import { endSessionsOf, listSessionsOf, useSession } from '../store/sessions.ts';
import { actorOf, endOwnSession, portal, requireSession, toPortalSession } from './session.ts';

/** A use is written when the last written one is so long ago: a session may end so much too early. */
const unwrittenUseMs = (idleSeconds: number): number => Math.min(30_000, idleSeconds * 100);

export const resumeSession = (deps: IdentityDeps): RpcOf<'identity', 'resumeSession'> => ({
  allow: portal,
  async handle({ sessionToken }) {
    const session = await requireSession(deps, sessionToken);
    const { idleSeconds } = deps.sessions;
    if (session.unusedMs > unwrittenUseMs(idleSeconds)) await useSession(deps.store.sql, deps.keyedHash(sessionToken), idleSeconds);
    return { session: toPortalSession(session) };
  },
});

/** Short, because the portal gets a new one as often as it needs. */
const tokenSeconds = 240;

/** A token with the scopes that the user's role has at this moment. It ends with the session, and is not recorded: the session is. */
export const issueSessionToken = (deps: IdentityDeps): RpcOf<'identity', 'issueSessionToken'> => ({
  allow: portal,
  async handle({ sessionToken, environment: name }, call) {
    const environment = checkEnvironment(name);
    const provenAt = processClock.now();
    const { id, organizationId, userId, role, leftMs } = await requireSession(deps, sessionToken);
    const ttlSeconds = Math.max(1, Math.min(tokenSeconds, Math.floor(leftMs / 1_000)));
    const scopes = [...scopesOfRole({ role, environment })];
    const bearer = { id, organizationId, environment, userId, scopes, admin: role === 'admin', ttlSeconds, provenAt };
    const { accessToken, expiresIn } = await deps.tokenLimiter.run(organizationId, () => signToken(deps, bearer), call.signal);
    return { accessToken, expiresIn };
  },
});

export const listSessions = (deps: IdentityDeps): RpcOf<'identity', 'listSessions'> => ({
  allow: portal,
  async handle({ sessionToken }) {
    const { id, organizationId, userId } = await requireSession(deps, sessionToken);
    const rows = await listSessionsOf(deps.store.sql, organizationId, userId);
    return { sessions: rows.map((row) => ({ ...row, current: row.id === id })) };
  },
});

/** Ends the session at once. If it is another session, it is refused everywhere when this answers; the portal forgets the caller's session by itself. */
export const endSession = (deps: IdentityDeps): RpcOf<'identity', 'endSession'> => ({
  allow: portal,
  async handle({ sessionToken, sessionId }, call) {
    const session = await requireSession(deps, sessionToken);
    const isOther = sessionId !== '' && sessionId !== session.id;
    const id = isOther ? checkId(sessionId, 'id') : session.id;
    const isEnded = await runChange(deps.store, call, session, ({ sql }) => endOwnSession(sql, call, session, id));
    if (!isEnded && isOther) throw new ServiceError('not_found');
    deps.auditRelay.nudge();
    if (isOther) await deps.waitForRevocation(0);
    return {};
  },
});

export const endSessions = (deps: IdentityDeps): RpcOf<'identity', 'endSessions'> => ({
  allow: portal,
  async handle({ sessionToken }, call) {
    const session = await requireSession(deps, sessionToken);
    const { organizationId, userId } = session;
    const ended = await runChange(deps.store, call, session, async ({ sql }) => {
      // Every change that ends several sessions of a user takes this lock first, so that two of them do not wait for each other's rows.
      await lockSignInOf(sql, organizationId, userId);
      const ids = await endSessionsOf(sql, organizationId, userId);
      const target = { type: 'user', id: userId };
      const changes = { ended_sessions: ids };
      await writeAudit(sql, call, { action: 'sessions.ended', organizationId, environment: '', target, actor: actorOf(session), changes });
      return ids.length;
    });
    deps.auditRelay.nudge();
    await deps.waitForRevocation(0);
    return { ended };
  },
});
