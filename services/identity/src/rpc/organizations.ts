import { type Environment, newId, operators, type RpcOf, ServiceError, scopesOfRole } from '@agent-service/contracts';
import { processClock } from '@agent-service/runtime';
import { writeAudit } from '@agent-service/store';
import type { IdentityDeps } from '../deps.ts';
import { Organization } from '../store/entities.ts';
import { addKey } from './credentials.ts';
import { checkEmail, checkName } from './input.ts';
import { addUser } from './users.ts';

/** Makes an organization with one administrator, who has a key with every scope in each environment. */
export const createOrganization = ({ store, keyedHash, auditRelay }: IdentityDeps): RpcOf<'identity', 'createOrganization'> => ({
  allow: operators,
  async handle({ name, email }, call) {
    const organizationId = newId('org');
    const administrator = { name: 'Administrator', email: email === '' ? '' : checkEmail(email), role: 'admin', kind: 'person' } as const;
    const created = await store.transaction(
      async (transaction) => {
        transaction.em.create(Organization, { id: organizationId, name: checkName(name), createdAt: new Date(processClock.now()) });
        await transaction.em.flush();
        await writeAudit(transaction.sql, call, {
          action: 'organization.created',
          organizationId,
          environment: '',
          target: { type: 'organization', id: organizationId },
          changes: { name },
        });
        const { id: userId } = await addUser(transaction, call, { ...administrator, organizationId });
        const addAdminKey = async (environment: Environment) => {
          const scopes = scopesOfRole({ role: 'admin', environment });
          const key = { organizationId, userId, name: '', environment, scopes, admin: true, tokenTtlSeconds: null };
          return (await addKey(transaction, call, keyedHash, key)).apiKey;
        };
        const [liveApiKey, testApiKey] = [await addAdminKey('live'), await addAdminKey('test')];
        return { organizationId, userId, liveApiKey, testApiKey };
      },
      { mayRepeat: true },
    );
    auditRelay.nudge();
    return created;
  },
});

export const getOrganization = ({ store }: IdentityDeps): RpcOf<'identity', 'getOrganization'> => ({
  allow: operators,
  async handle({ organizationId }) {
    const organization = await store.transaction(({ em }) => em.findOne(Organization, { id: organizationId }));
    if (!organization) throw new ServiceError('not_found', { message: 'There is no such organization.', param: 'organization' });
    return { organizationId: organization.id, name: organization.name, createdAt: organization.createdAt.toISOString() };
  },
});

const maxOrganizations = 200;

/** Newest first, by their ids, which are in the order of creation. */
export const listOrganizations = ({ store }: IdentityDeps): RpcOf<'identity', 'listOrganizations'> => ({
  allow: operators,
  async handle({ limit, afterId }) {
    if (limit < 1 || limit > maxOrganizations)
      throw new ServiceError('invalid_request', { message: `limit must be from 1 to ${maxOrganizations}.`, param: 'limit' });
    const where = afterId === '' ? {} : { id: { $lt: afterId } };
    const rows = await store.transaction(async ({ em }) => {
      if (afterId !== '' && !(await em.findOne(Organization, { id: afterId })))
        throw new ServiceError('invalid_cursor', { param: 'after' });
      // One row more than the limit shows that there is a further page.
      return await em.find(Organization, where, { orderBy: { id: 'desc' }, limit: limit + 1 });
    });
    const organizations = rows.slice(0, limit).map(({ id, name, createdAt }) => ({ id, name, createdAt: createdAt.toISOString() }));
    return { organizations, hasMore: rows.length > limit };
  },
});
