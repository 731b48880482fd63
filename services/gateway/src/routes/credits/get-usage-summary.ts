import { required } from '@agent-service/contracts';
import { z } from 'zod';
import { route } from '../../routing/route.ts';
import { toUsageSummary, usageSummary } from '../../schemas/usage.ts';

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
    return { data: toUsageSummary(required(answer.summary)) };
  },
});
