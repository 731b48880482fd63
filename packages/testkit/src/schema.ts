import { Client } from 'pg';

/** Reads a migrated schema for tests that compare it with the code. */
export interface MigratedSchema {
  /** The names of the other tables, sorted. Partitions count as their table. */
  tablesWithout(described: readonly string[]): Promise<string[]>;
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
    async tablesWithout(described) {
      const { rows } = await client.query<{ name: string }>(
        `select relname as name from pg_class where relnamespace = $1::regnamespace and relkind in ('r', 'p') and not relispartition
           and relname <> all($2) order by 1`,
        [schema, described],
      );
      return rows.map(({ name }) => name);
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
