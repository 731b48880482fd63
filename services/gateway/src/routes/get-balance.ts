import { z } from 'zod';
import { organizationBalance, toOrganizationBalance } from '../schemas/credits.ts';
import { present } from './present.ts';
import { route } from './route.ts';

export const getBalance = route({
  method: 'GET',
  path: '/v1/credits/balance',
  operationId: 'getBalance',
  summary: 'View the credit balance of the organization',
  tag: 'Credits',
  auth: 'token',
  scope: 'credits:read',
  cost: 'read',
  response: z.strictObject({ data: organizationBalance }),
  async handler(_request, { credits }) {
    const answer = await credits.getBalance({});
    return { data: toOrganizationBalance(present(answer.balance)) };
  },
});
