import { judgeStatement } from '@agent-service/store';
import type { TenantLanes } from '@agent-service/work';
import type { TenantKey } from './key.ts';
import type { Parts } from './parts.ts';

/** Batches that a process has out for each kind of work, where several tenants are busy. */
const shards = 4;

/** How batches of answers keep tenants apart: the options of every batcher of this service. */
export const isolation = <Item extends TenantKey>({ slowTenants }: Pick<Parts, 'slowTenants'>) => ({
  judge: judgeStatement,
  tenants: { of: (item: Item) => item, lanes: shards, slow: slowTenants } satisfies TenantLanes<Item>,
});
