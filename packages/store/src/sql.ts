import { createHash } from 'node:crypto';
import type { EntityManager } from '@mikro-orm/postgresql';
import { CompiledQuery } from 'kysely';
import type { Pool } from 'pg';
import { translateFailure } from './failures.ts';

/** Runs one statement with `$1` parameters and answers with its rows. */
export type Sql = <Row extends object>(statement: string, values?: readonly unknown[]) => Promise<Row[]>;

const names = new Map<string, string>();

/** Statements are few and constant, so each is prepared once a connection under a name of its own. */
function nameOf(statement: string): string {
  const name = names.get(statement) ?? createHash('sha256').update(statement).digest('base64url').slice(0, 32);
  names.set(statement, name);
  return name;
}

/** Statements on any connection of the pool, each a transaction by itself. */
export function poolSql(pool: Pool): Sql {
  return async <Row extends object>(text: string, values: readonly unknown[] = []) => {
    try {
      return (await pool.query<Row>({ name: nameOf(text), text, values: [...values] })).rows;
    } catch (cause) {
      throw translateFailure(cause);
    }
  };
}

/** Statements inside the entity manager's transaction. */
export function transactionSql(em: EntityManager): Sql {
  return async <Row extends object>(text: string, values: readonly unknown[] = []) => {
    try {
      return (await em.getKysely().executeQuery<Row>(CompiledQuery.raw(text, [...values]))).rows;
    } catch (cause) {
      throw translateFailure(cause);
    }
  };
}
