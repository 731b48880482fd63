import { jsonReply } from '@agent-service/http/replies/reply';
import { z } from 'zod';
import { userRoute } from './route.ts';

const path = '/api/two-factor';
/** Empty for a user without one, whose sign-in has to be fresh. */
const password = z.string().max(1_024).default('');

export const beginTwoFactor = userRoute({
  method: 'POST',
  path,
  body: z.strictObject({ password }),
  async handler({ sessionToken, body }, { identity }) {
    const { secret, uri } = await identity.beginTwoFactor({ sessionToken, ...body });
    return jsonReply(200, { data: { secret, uri } });
  },
});

export const confirmTwoFactor = userRoute({
  method: 'PUT',
  path,
  body: z.strictObject({ code: z.string().max(64) }),
  async handler({ sessionToken, body: { code } }, { identity, sessions }) {
    const { recoveryCodes } = await identity.confirmTwoFactor({ sessionToken, code });
    sessions.forget(sessionToken);
    return jsonReply(200, { data: { recovery_codes: recoveryCodes } });
  },
});

export const removeTwoFactor = userRoute({
  method: 'DELETE',
  path,
  body: z.strictObject({ password }),
  async handler({ sessionToken, body }, { identity, sessions }) {
    await identity.removeTwoFactor({ sessionToken, ...body });
    sessions.forget(sessionToken);
    return { status: 204 };
  },
});
