import { randomUUID } from 'node:crypto';
import { type TestDatabase, testDatabase } from '@agent-service/testkit';
import pg from 'pg';

/** Every value outside the scope below is such a canary, also the numbers. */
export const canary = /CANARY|(?<!\d)7{5}\d{4}(?!\d)/i;

/** The scope of the attacker's agent: some columns of some tables, and a view that filters rows. */
export const attackedScope: readonly string[] = [
  'customers(id, name, region, signed_up)',
  'orders(id, customer_id, total, placed_at, tags, facts)',
  'visible_people(id, name)',
  '"Mixed Case"("Id", "Open")',
  'sales.orders(id, amount)',
];

const schema = `
create schema sales;
create schema vault;
create type mood as enum ('good', 'bad');
create table customers (id integer primary key, name text, region text, signed_up date, email text, secret text, credit integer);
create table orders (id integer primary key, customer_id integer references customers, total numeric(12,2), placed_at timestamptz,
  tags text[], facts jsonb, note text, internal jsonb, pin integer);
create table "Mixed Case" ("Id" integer primary key, "Open" text, "Hidden" text);
create table people (id integer primary key, name text, hidden boolean);
create view visible_people as select id, name, id + 777770000 as badge from people where not hidden;
create table sales.orders (id integer primary key, amount integer, margin integer);
create table salaries (id serial primary key, employee text, amount integer);
create table vault.keys (id integer primary key, value text);
create sequence counter;
insert into customers select n, 'Name ' || n, (array['North', 'South'])[1 + n % 2], date '2024-01-01' + n,
  'CANARY-email-' || n, 'CANARY-secret-' || n, 777771000 + n from generate_series(1, 40) n;
insert into orders select n, 1 + n % 40, n * 3.5, timestamptz '2024-01-01' + n * interval '1 day', array['a' || n % 3], jsonb_build_object('k', n % 4),
  'CANARY-note-' || n, jsonb_build_object('CANARY-key-' || n, n), 777772000 + n from generate_series(1, 80) n;
insert into "Mixed Case" select n, 'open ' || n, 'CANARY-hidden-' || n from generate_series(1, 10) n;
insert into people select n, case when n % 2 = 0 then 'CANARY-person-' || n else 'Person ' || n end, n % 2 = 0 from generate_series(1, 40) n;
insert into sales.orders select n, n * 10, 777773000 + n from generate_series(1, 20) n;
insert into salaries (employee, amount) select 'CANARY-employee-' || n, 777774000 + n from generate_series(1, 20) n;
insert into vault.keys select n, 'CANARY-key-' || n from generate_series(1, 20) n;
create function leak() returns text language sql security definer as $$ select string_agg(value, ',') from vault.keys $$;
create function lower(anyelement) returns text language sql as $$ select string_agg(value, ',') from vault.keys $$;
create function tamper() returns integer language sql as $$ insert into public.salaries (employee, amount) values ('tampered', 1) returning id $$;
create function steal(integer, integer) returns boolean language sql as $$ select exists (select from public.tamper()) $$;
create operator public.=== (leftarg = integer, rightarg = integer, function = steal);
create function name_of(customers) returns text language sql as $$ select ($1).secret $$;
comment on table salaries is 'CANARY-comment';
comment on column customers.secret is 'CANARY-column-comment';
select lo_from_bytea(77777, 'CANARY-large-object');
revoke execute on function leak(), lower(anyelement), tamper(), name_of(customers) from public;
analyze;
`;

export interface HostileDatabase {
  /** The URL of an account that owns all objects, but is no superuser and cannot make roles, so that only the gates protect them. */
  readonly url: string;
  /** The URL of an account that can make roles. */
  readonly administratorUrl: string;
  readonly administrator: pg.Client;
  /** A checksum of all rows, sequences, large objects, settings and functions, and of the locks that sessions hold. */
  checksum(): Promise<string>;
  drop(): Promise<void>;
}

export async function hostileDatabase(): Promise<HostileDatabase> {
  const database: TestDatabase = await testDatabase();
  const administrator = new pg.Client({ connectionString: database.url });
  await administrator.connect();
  const account = `attacked_${randomUUID().replaceAll('-', '')}`;
  const url = new URL(database.url);
  await administrator.query(`create role ${account} login password 'attacked' nosuperuser nocreaterole nocreatedb;
    grant create on database "${url.pathname.slice(1)}" to ${account}; grant create on schema public to ${account};
    set role ${account}; ${schema}; reset role;`);
  [url.username, url.password] = [account, 'attacked'];
  return {
    url: url.href,
    administratorUrl: database.url,
    administrator,
    checksum: () => checksum(administrator, account),
    async drop() {
      await administrator.query(`drop owned by ${account}; drop role ${account}`);
      await administrator.end();
      await database.drop();
    },
  };
}

const checksums = `
select 'rows ' || c.oid::regclass || ' ' || md5(query_to_xml('select * from ' || c.oid::regclass || ' order by 1', true, true, '')::text) as part
  from pg_class c where c.relkind = 'r' and c.relnamespace::regnamespace::text in ('public', 'sales', 'vault')
union all select concat('sequence ', schemaname, sequencename, last_value) from pg_sequences
union all select concat('large object ', oid, md5(lo_get(oid))) from pg_largeobject_metadata where lomowner in (10, $1::regrole)
union all select concat('class ', oid::regclass, relkind, relowner) from pg_class where relnamespace::regnamespace::text not like 'pg_%'
union all select 'function ' || proname || md5(prosrc) from pg_proc where pronamespace::regnamespace::text not like 'pg_%' and prolang <> 12
union all select concat('advisory lock ', classid, objid) from pg_locks where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())
union all select concat('role setting ', setrole, setconfig) from pg_db_role_setting where setrole in (10, $1::regrole)
order by 1`;

async function checksum(client: pg.Client, account: string): Promise<string> {
  const { rows } = await client.query<{ part: string }>(checksums, [account]);
  return rows.map(({ part }) => part).join('\n');
}
