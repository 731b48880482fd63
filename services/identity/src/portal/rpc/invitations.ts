import { checkId, newId, operatorService, type RpcOf, ServiceError } from '@agent-service/contracts';
import { runChange, writeAudit } from '@agent-service/store';
import type { IdentityDeps } from '../../deps.ts';
import { checkEmail, checkName, checkRole } from '../../rpc/input.ts';
import { addUser } from '../../rpc/users.ts';
import { lockActiveUser, lockOrganization, lockSignInOf } from '../../store/users.ts';
import {
  addInvitation,
  addReset,
  findInvitation,
  findReset,
  isUserEmail,
  listInvitationsOf,
  removeInvitation,
  takeInvitation,
  takeReset,
} from '../store/invitations.ts';
import { savePassword } from '../store/passwords.ts';
import { checkPassword, requirePerson } from './passwords.ts';
import {
  actorOf,
  lockAdministrator,
  makeToken,
  openedSession,
  openSession,
  portal,
  replacePassword,
  requireAdministrator,
} from './session.ts';

const maxInvitations = 200;
const invitationSeconds = 72 * 3_600;
const resetSeconds = 3_600;

const noInvitation = () =>
  new ServiceError('not_found', { message: 'The invitation was used, withdrawn, or has expired. Ask for a new one.' });
const noReset = () => new ServiceError('not_found', { message: 'The link was used, replaced, or has expired. Ask for a new one.' });

/** A user who may not sign in has no reset; other failures stay what they are. */
function refuseReset(cause: unknown): never {
  throw ['not_found', 'user_deactivated'].includes(ServiceError.from(cause).code) ? noReset() : cause;
}

export const createInvitation = (deps: IdentityDeps): RpcOf<'identity', 'createInvitation'> => ({
  allow: portal,
  async handle({ sessionToken, email, name, role }, call) {
    const { store, keyedHash, auditRelay } = deps;
    const session = await requireAdministrator(deps, sessionToken);
    const { organizationId } = session;
    const token = makeToken();
    const facts = {
      id: newId('inv'),
      organizationId,
      email: checkEmail(email),
      name: name === '' ? '' : checkName(name),
      role: checkRole(role),
    };
    await runChange(deps.store, call, session, async ({ sql }) => {
      // Two invitations cannot both be the last.
      await lockOrganization(sql, organizationId);
      // A demotion of the administrator waits for this invitation, and removes it. An end of the session waits as well: by then the
      // list has every invitation of the session.
      await lockAdministrator(sql, session);
      if (await isUserEmail(sql, organizationId, email)) throw new ServiceError('email_taken', { param: 'email' });
      await addInvitation(sql, { ...facts, tokenHash: keyedHash(token), createdBy: session.userId, lifetimeSeconds: invitationSeconds });
      if ((await listInvitationsOf(sql, organizationId, maxInvitations + 1)).length > maxInvitations)
        throw new ServiceError('credential_limit_reached', {
          message: `At most ${maxInvitations} invitations can be open. Withdraw one.`,
        });
      await writeAudit(sql, call, {
        action: 'invitation.created',
        organizationId,
        environment: '',
        target: { type: 'invitation', id: facts.id },
        actor: actorOf(session),
        changes: { email: facts.email, role: facts.role },
      });
    });
    auditRelay.nudge();
    const invitation = await findInvitation(store.sql, keyedHash(token));
    if (!invitation) throw noInvitation();
    return { invitation, token };
  },
});

export const listInvitations = (deps: IdentityDeps): RpcOf<'identity', 'listInvitations'> => ({
  allow: portal,
  async handle({ sessionToken }) {
    const { organizationId } = await requireAdministrator(deps, sessionToken);
    return { invitations: await listInvitationsOf(deps.store.sql, organizationId, maxInvitations) };
  },
});

export const deleteInvitation = (deps: IdentityDeps): RpcOf<'identity', 'deleteInvitation'> => ({
  allow: portal,
  async handle({ sessionToken, invitationId }, call) {
    const session = await requireAdministrator(deps, sessionToken);
    const { organizationId } = session;
    const target = { type: 'invitation', id: checkId(invitationId, 'id') };
    await runChange(deps.store, call, session, async ({ sql }) => {
      if (!(await removeInvitation(sql, organizationId, invitationId))) throw new ServiceError('not_found');
      await writeAudit(sql, call, { action: 'invitation.deleted', organizationId, environment: '', target, actor: actorOf(session) });
    });
    deps.auditRelay.nudge();
    return {};
  },
});

export const getInvitation = ({ store, keyedHash }: IdentityDeps): RpcOf<'identity', 'getInvitation'> => ({
  allow: portal,
  async handle({ token }) {
    const invitation = await findInvitation(store.sql, keyedHash(token));
    if (!invitation) throw noInvitation();
    return { invitation };
  },
});

/** Makes the user with a password and opens a session, once. */
export const acceptInvitation = (deps: IdentityDeps): RpcOf<'identity', 'acceptInvitation'> => ({
  allow: portal,
  async handle({ token, name, password, client, previousSessionToken }, call) {
    const { store, keyedHash, passwords, events, auditRelay } = deps;
    const tokenHash = keyedHash(token);
    // Before the password is hashed, which only the holder of an invitation may cause, and once.
    const checkedName = checkName(name);
    const invitation = await findInvitation(store.sql, tokenHash);
    if (!invitation) throw noInvitation();
    const { organizationId, email, role } = invitation;
    if (await isUserEmail(store.sql, organizationId, email)) throw new ServiceError('email_taken', { param: 'email' });
    checkPassword(password, email, 'password');
    const hash = await passwords.hash({ email, password, lane: organizationId, signal: call.signal });
    const opening = { method: 'invitation', client, previousToken: previousSessionToken } as const;
    const sessionToken = await store.transaction(
      async (transaction) => {
        if (!(await takeInvitation(transaction.sql, tokenHash))) throw noInvitation();
        const user = await addUser(transaction, call, { organizationId, name: checkedName, email, role, kind: 'person' });
        await events.addRegistered(transaction.sql, organizationId, user);
        await savePassword(transaction.sql, organizationId, user.id, hash);
        return await openSession(transaction, deps, call, { organizationId, userId: user.id }, opening);
      },
      { mayRepeat: true },
    );
    auditRelay.nudge();
    events.nudge();
    return await openedSession(deps, sessionToken);
  },
});

/** For other administrators of the user's organization, and for operators. The user's own session is not enough to replace the password. */
export const createPasswordReset = (deps: IdentityDeps): RpcOf<'identity', 'createPasswordReset'> => ({
  allow: { services: [...portal.services, operatorService] },
  async handle({ sessionToken, userId, organizationId: named }, call) {
    const { keyedHash, auditRelay } = deps;
    const isOperator = call.caller.service === operatorService;
    const session = isOperator ? undefined : await requireAdministrator(deps, sessionToken);
    if (session?.userId === userId)
      throw new ServiceError('invalid_request', { message: 'Change your own password in your settings, which ask for the present one.' });
    const user = await requirePerson(deps, session?.organizationId ?? checkId(named, 'organization_id'), checkId(userId, 'user_id'));
    if (user.email === '') throw new ServiceError('invalid_request', { message: 'The user has no e-mail address to sign in with.' });
    const token = makeToken();
    const expiresAt = await runChange(deps.store, call, user, async ({ sql }) => {
      // A change of one of the two users waits for this link, and removes it.
      if (session) await lockAdministrator(sql, session);
      await lockActiveUser(sql, user.organizationId, user.userId);
      await writeAudit(sql, call, {
        action: 'password_reset.created',
        organizationId: user.organizationId,
        environment: '',
        target: { type: 'user', id: user.userId },
        ...(session && { actor: actorOf(session) }),
      });
      return await addReset(sql, user, keyedHash(token), resetSeconds);
    });
    auditRelay.nudge();
    return { token, expiresAt };
  },
});

/** Sets the password, once, and ends every session of the user. A second factor stays. */
export const resetPassword = (deps: IdentityDeps): RpcOf<'identity', 'resetPassword'> => ({
  allow: portal,
  async handle({ token, password }, call) {
    const { store, keyedHash, passwords, auditRelay, waitForRevocation } = deps;
    const tokenHash = keyedHash(token);
    const reset = await findReset(store.sql, tokenHash);
    if (!reset) throw noReset();
    const user = await requirePerson(deps, reset.organizationId, reset.userId).catch(refuseReset);
    checkPassword(password, user.email, 'password');
    const hash = await passwords.hash({ email: user.email, password, lane: user.organizationId, signal: call.signal });
    const actor = { type: 'user', id: user.userId, keyId: '' };
    await store.transaction(async (transaction) => {
      // Locks the user before the link, in the order of a change of the user, which locks the user and then removes the link.
      await lockSignInOf(transaction.sql, user.organizationId, user.userId).catch(refuseReset);
      if (!(await takeReset(transaction.sql, tokenHash))) throw noReset();
      await replacePassword(transaction, call, user, { hash, actor });
    });
    auditRelay.nudge();
    await waitForRevocation(0);
    return {};
  },
});
