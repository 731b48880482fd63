import type { EntityManager, MikroORM, Transaction as TransactionContext } from '@mikro-orm/postgresql';
import type { CompiledQuery } from 'kysely';
import type { Pool, PoolClient } from 'pg';
import { translateFailure } from './failures.ts';
import { createSql, poolClient, type Sql } from './sql.ts';

export interface Transaction {
  /** Entities of this transaction alone; flushed before it commits. */
  readonly em: EntityManager;
  readonly sql: Sql;
}

/**
 * Runs the work in a transaction on a connection of its own, which goes back to the pool or, when it can not even roll
 * back, out of it. The library's own transactions keep such a connection for ever, until the pool is empty.
 */
export async function inTransaction<T>(orm: MikroORM, pool: Pool, work: (transaction: Transaction) => Promise<T>): Promise<T> {
  const client = await connect(pool);
  let entities: EntityManager | undefined;
  const transaction: Transaction = {
    sql: createSql(client),
    get em() {
      entities ??= entitiesOn(orm, client);
      return entities;
    },
  };
  try {
    await client.query('begin');
    const result = await work(transaction);
    await entities?.flush();
    await client.query('commit');
    client.release();
    return result;
  } catch (cause) {
    await abandon(client);
    throw translateFailure(cause);
  }
}

async function connect(pool: Pool): Promise<PoolClient> {
  try {
    return await pool.connect();
  } catch (cause) {
    throw translateFailure(cause);
  }
}

async function abandon(client: PoolClient): Promise<void> {
  try {
    await client.query('rollback');
    client.release();
  } catch {
    // The connection is lost, and its transaction with it: whoever asked gets the first failure, not this one.
    client.release(true);
  }
}

/** Each statement takes a connection of the pool and returns it. */
export async function readEntities<T>(orm: MikroORM, pool: Pool, work: (em: EntityManager) => Promise<T>): Promise<T> {
  try {
    return await work(entitiesOn(orm, poolClient(pool)));
  } catch (cause) {
    throw translateFailure(cause);
  }
}

/** An entity manager whose statements run on this very connection. */
function entitiesOn(orm: MikroORM, client: Pick<PoolClient, 'query'>): EntityManager {
  const em = orm.em.fork();
  const context = { executeQuery: ({ sql, parameters }: CompiledQuery) => client.query(sql, [...parameters]).then(resultOf) };
  em.setTransactionContext(context as unknown as TransactionContext);
  return em;
}

const resultOf = ({ rows, rowCount }: { rows: unknown[]; rowCount: number | null }) => ({ rows, numAffectedRows: BigInt(rowCount ?? 0) });
