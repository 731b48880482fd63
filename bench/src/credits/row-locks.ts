import { Pool, type PoolClient } from 'pg';
import type { Pair } from '../pairs.ts';

/** The number at which it is fastest: each further one only waits for the others' locks. */
const connections = 4;

const tables = `
  create schema floor;
  create table floor.ledgers (organization_id text primary key, allocated bigint not null, spent bigint not null);
  create table floor.users (organization_id text, user_id text, balance bigint not null check (balance >= 0), held bigint not null check (held >= 0),
    primary key (organization_id, user_id));
  create table floor.holds (organization_id text, id text, user_id text not null, amount int not null, state text not null, charge int,
    primary key (organization_id, id));
  create table floor.usage (organization_id text, hold_id text, user_id text not null, agent_id text not null, tier text not null, credits int not null,
    query_summary text not null, at timestamptz not null default now(), primary key (organization_id, hold_id));
  insert into floor.ledgers values ('org', 2000000000, 0);
  insert into floor.users values ('org', 'usr', 2000000000, 0);
`;

export interface RowLocks {
  pair: Pair;
  stop(): Promise<void>;
}

/** The same two steps the way they are mostly written: a transaction each, which locks the rows it changes. No rollups, no transfers. */
export async function startRowLocks(url: string, summary: string): Promise<RowLocks> {
  const pool = new Pool({ connectionString: url, max: connections });
  await pool.query(tables);
  return {
    stop: () => pool.end(),
    async pair(id) {
      await inTransaction(pool, (client) => hold(client, id));
      await inTransaction(pool, (client) => settle(client, id, summary));
    },
  };
}

async function inTransaction(pool: Pool, work: (client: PoolClient) => Promise<void>): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query('begin');
    await work(client);
    await client.query('commit');
  } finally {
    client.release();
  }
}

const run = (client: PoolClient, name: string, text: string, values: unknown[]) =>
  client.query<Record<string, string>>({ name, text, values });

async function hold(client: PoolClient, id: string): Promise<void> {
  const { rows } = await run(
    client,
    'lock user',
    `select balance from floor.users where organization_id = $1 and user_id = $2 for update`,
    ['org', 'usr'],
  );
  if (Number(rows[0]?.['balance']) < 4) throw new Error('credits exhausted');
  await run(client, 'hold', `update floor.users set balance = balance - 4, held = held + 4 where organization_id = $1 and user_id = $2`, [
    'org',
    'usr',
  ]);
  await run(client, 'add hold', `insert into floor.holds values ($1, $2, $3, 4, 'open')`, ['org', id, 'usr']);
}

async function settle(client: PoolClient, id: string, summary: string): Promise<void> {
  const { rows } = await run(
    client,
    'lock hold',
    `select amount, state from floor.holds where organization_id = $1 and id = $2 for update`,
    ['org', id],
  );
  if (rows[0]?.['state'] !== 'open') throw new Error('not open');
  await run(client, 'end hold', `update floor.holds set state = 'settled', charge = 2 where organization_id = $1 and id = $2`, ['org', id]);
  await run(client, 'settle', `update floor.users set balance = balance + 2, held = held - 4 where organization_id = $1 and user_id = $2`, [
    'org',
    'usr',
  ]);
  await run(client, 'spend', `update floor.ledgers set allocated = allocated - 2, spent = spent + 2 where organization_id = $1`, ['org']);
  await run(client, 'add usage', `insert into floor.usage values ($1, $2, $3, 'agt', 'Fast', 2, $4)`, ['org', id, 'usr', summary]);
}
