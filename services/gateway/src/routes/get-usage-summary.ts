import { z } from 'zod';
import { usageSummary } from '../schemas/usage.ts';
import { toUsageSummary } from '../schemas/usage-messages.ts';
import { present } from './present.ts';
import { route } from './route.ts';

export const getUsageSummary = route({
  method: 'GET',
  path: '/v1/credits/summary',
  operationId: 'getUsageSummary',
  summary: 'Summarize the usage of the current billing period',
  tag: 'Credits',
  auth: 'token',
  scope: 'credits:read',
  cost: 'read',
  response: z.strictObject({ data: usageSummary }),
  async handler(_request, { credits }) {
    const answer = await credits.summarizeUsage({});
    return { data: toUsageSummary(present(answer.summary)) };
  },
});
