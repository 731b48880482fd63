import { type RpcOf, services } from '@agent-service/contracts';
import type { IdentityContext } from '../context.ts';

export const listSigningKeys = ({ signingKeys }: IdentityContext): RpcOf<'identity', 'listSigningKeys'> => ({
  allow: services('gateway'),
  async handle() {
    return { keys: await signingKeys.publicKeys() };
  },
});
