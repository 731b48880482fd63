import { Client } from 'pg';

/** A column as an entity or a migrated table describes it. */
export interface ColumnDescription {
  readonly table: string;
  readonly column: string;
  /** In the spelling of PostgreSQL's `format_type`. */
  readonly type: string;
  readonly isNullable: boolean;
}

/** Reads a migrated schema for tests that compare it with the code. */
export interface MigratedSchema {
  /** The columns of these tables, sorted. */
  columns(tables: readonly string[]): Promise<ColumnDescription[]>;
  /** The names of the statements that PostgreSQL does not prepare, each with the reason. */
  failuresToPrepare(statements: Readonly<Record<string, string>>): Promise<string[]>;
  end(): Promise<void>;
}

export async function openMigratedSchema(url: string, schema: string): Promise<MigratedSchema> {
  const client = new Client({ connectionString: url, options: `-c search_path=${schema} -c timezone=UTC` });
  await client.connect();

  async function failureToPrepare(statement: string): Promise<string | undefined> {
    try {
      await client.query(`prepare checked as ${statement}`);
      await client.query('deallocate checked');
      return undefined;
    } catch (cause) {
      return cause instanceof Error ? cause.message : String(cause);
    }
  }

  return {
    async columns(tables) {
      const { rows } = await client.query<ColumnDescription>(
        `select relname as table, attname as column, format_type(atttypid, atttypmod) as type, not attnotnull as "isNullable"
         from pg_attribute join pg_class on pg_class.oid = attrelid
         where relnamespace = $1::regnamespace and relname = any($2) and attnum > 0 and not attisdropped order by 1, 2`,
        [schema, tables],
      );
      return rows;
    },
    async failuresToPrepare(statements) {
      const failures: string[] = [];
      for (const [name, statement] of Object.entries(statements)) {
        const failure = await failureToPrepare(statement);
        if (failure !== undefined) failures.push(`${name}: ${failure}`);
      }
      return failures;
    },
    end: () => client.end(),
  };
}
