import { callers, type RpcOf, ServiceError } from '@agent-service/contracts';
import type { IdentityDeps } from '../deps.ts';
import { findSelf } from '../store/users.ts';
import { toUser } from './users.ts';

/** Needs no scope: it tells a caller about the caller only. */
export const getSelf = ({ store }: IdentityDeps): RpcOf<'identity', 'getSelf'> => ({
  allow: callers(),
  async handle(_request, call) {
    const self = await findSelf(store.sql, call.tenant);
    if (!self) throw new ServiceError('not_found');
    return {
      user: toUser(self.user),
      userKind: self.kind,
      organizationName: self.organizationName,
      credentialType: self.isKey ? 'api_key' : 'oauth_application',
      credentialName: self.credentialName,
      credentialEndsAt: self.credentialEndsAt?.toISOString() ?? '',
    };
  },
});
