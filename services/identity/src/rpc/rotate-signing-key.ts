import { operators, type RpcOf } from '@agent-service/contracts';
import type { IdentityContext } from '../context.ts';

export const rotateSigningKey = ({ signingKeys }: IdentityContext): RpcOf<'identity', 'rotateSigningKey'> => ({
  allow: operators,
  async handle() {
    return { kid: await signingKeys.rotate() };
  },
});
