import { required } from '@agent-service/contracts';
import { z } from 'zod';
import { route } from '../../routing/route.ts';
import { organizationBalance, toOrganizationBalance } from '../../schemas/credits.ts';

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
    return { data: toOrganizationBalance(required(answer.balance)) };
  },
});
