import { z } from 'zod';
import { route } from '../../routing/route.ts';

export const revokeKey = route({
  method: 'DELETE',
  path: '/v1/auth/keys/{key_id}',
  operationId: 'revokeKey',
  summary: 'Revoke an API key and every token made from it',
  description: 'When this has answered, the key and its tokens are refused everywhere. Revoking a key again is a success too.',
  tag: 'Authentication',
  auth: 'token',
  admin: true,
  cost: 'write',
  params: z.strictObject({ key_id: z.string().meta({ example: 'key_01jz0000000000000000000000' }) }),
  async handler({ params: { key_id } }, { identity }) {
    await identity.revokeKey({ keyId: key_id });
    return undefined;
  },
});
