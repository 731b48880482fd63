import { jsonReply } from '@agent-service/http/replies/reply';
import { z } from 'zod';
import { userRoute } from './route.ts';
import { password } from './session.ts';

const path = '/api/two-factor';
/** The password is empty for a user without one, whose sign-in has to be fresh. */
const body = z.strictObject({ password: password.default('') });

export const beginTwoFactor = userRoute({
  method: 'POST',
  path,
  body,
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
  body,
  async handler({ sessionToken, body }, { identity, sessions }) {
    await identity.removeTwoFactor({ sessionToken, ...body });
    sessions.forget(sessionToken);
    return { status: 204 };
  },
});
