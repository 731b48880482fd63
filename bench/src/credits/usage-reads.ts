import type { Call } from '@agent-service/contracts';
import { createProcess } from '@agent-service/runtime';
import { createCursors, migrate, openStore } from '@agent-service/store';
import { readCreditsConfig } from '../../../services/credits/src/config.ts';
import type { CreditsDeps } from '../../../services/credits/src/deps.ts';
import { bindingOf, listUsage, summarizeUsage } from '../../../services/credits/src/rpc/usage.ts';
import { aggregateUsage } from '../../../services/credits/src/rpc/usage-groups.ts';
import { migrations } from '../../../services/credits/src/store/migrations/index.ts';

const secret = 'a-service-secret-for-the-benchmark-alone';

export interface Range {
  dateFrom: string;
  dateTo: string;
}

/** The service's own methods over one database, called without the network between. */
export interface UsageReads {
  groupBy(groupBy: 'day' | 'user', range: Range): Promise<unknown>;
  summary(): Promise<unknown>;
  page(cursor: string): Promise<{ total: number; nextCursor: string }>;
  /** The cursor that leads behind this record. */
  cursorBehind(at: string, id: string): string;
  stop(): Promise<void>;
}

export async function openUsageReads(databaseUrl: string, organizationId: string, now: number): Promise<UsageReads> {
  const config = readCreditsConfig({
    HOST: '127.0.0.1',
    OPS_PORT: '0',
    LOG_LEVEL: 'warn',
    DATABASE_URL: databaseUrl,
    SERVICE_SECRET: secret,
    CURSOR_SECRET: secret,
    IDENTITY_ADDRESS: '127.0.0.1:1',
  });
  await migrate({ url: databaseUrl, schema: 'credits', migrations });
  const running = await createProcess('credits', config, (process) => openStore(process, config, { schema: 'credits', entities: [] }));
  const cursors = createCursors([secret]);
  const context = { usageSql: () => running.started.sql, cursors, now: () => now } as unknown as CreditsDeps;
  const tenant = { organizationId, environment: 'live' } as const;
  const call = { principal: { ...tenant, userId: 'usr', credentialId: 'key', scopes: ['credits:read'], admin: false } } as unknown as Call;
  const everyone = { userId: '', agentId: '', dateFrom: '', dateTo: '' };
  const [aggregate, list, summarize] = [aggregateUsage(context), listUsage(context), summarizeUsage(context)];
  const first = { limit: 50, cursor: '' };
  return {
    groupBy: (groupBy, range) =>
      aggregate.handle({ groupBy, filter: { ...everyone, ...range }, page: { ...first, limit: groupBy === 'day' ? 100 : 50 } }, call),
    summary: () => summarize.handle({}, call),
    async page(cursor) {
      const { page } = await list.handle({ filter: everyone, page: { ...first, cursor } }, call);
      return { total: Number(page?.total), nextCursor: page?.nextCursor ?? '' };
    },
    cursorBehind: (at, id) => cursors.encode(bindingOf('usage', { tenant, userId: '', agentId: '' }, everyone), { after: [at, id] }),
    stop: () => running.stop(),
  };
}
