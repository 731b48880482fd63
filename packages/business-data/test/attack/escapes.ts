/** Known ways past checks of SQL, one statement each. */
const reading = `
select secret from customers
select c.secret from customers c
select customers.secret from customers
select public.customers.secret from public.customers
select * from salaries
select * from public.salaries
select * from vault.keys
table salaries
table vault.keys
select * from only customers
select name from customers union all select employee from salaries
select name from customers union all table vault.keys
select (select value from vault.keys limit 1)
select name, (select string_agg(employee, ',') from salaries) from customers
select * from customers c, lateral (select c.secret) s
select * from customers c cross join lateral (select * from salaries where id = c.id) s
select row_to_json(c) from customers c
select to_jsonb(c) from customers c
select json_agg(c) from customers c
select c::text from customers c
select (c).secret from customers c
select (c.*).secret from customers c
select c from customers c
select (customers).email from customers
select secret(c) from customers c
select c.name_of from customers c
select name_of(c) from customers c
select (c).name_of from customers c
select public.name_of(c) from customers c
select ctid, xmin, tableoid from customers
select tableoid::regclass from customers
select c.tableoid from customers c
select "secret" from "customers"
select U&"secret" from customers
select U&"\\0073ecret" from customers
select U&"!0073ecret" uescape '!' from customers
select "Hidden" from "Mixed Case"
select * from "mixed case"
select * from U&"\\0073alaries"
select * from "salaries"
select * from "public"."salaries"
select * from public . salaries
select * from/**/salaries
select * from /* ; */ salaries -- select
select * from customers; select * from salaries
select 1; drop table customers
select 1;;select * from salaries
select * from customers where id = 1 or (select count(*) from salaries) > 0
with salaries as (select * from salaries) select * from salaries
with recursive salaries as (select * from public.salaries) select * from salaries
with x as (select * from salaries) select * from x
with x as (with salaries as (select 1 as id) select * from salaries), y as (select * from salaries) select * from y
with customers as (select * from salaries) select * from customers
with a as (select * from b), b as (select 1) select * from a
with salaries as (select 1 as employee) select s.employee from public.salaries s
select * from (with salaries as (select 1 as id) select * from salaries) a, salaries b
with c as materialized (select secret from customers) select * from c
select customers from customers
select name from customers order by secret
select name from customers where secret like 'C%'
select count(*) from customers group by secret
select count(*) filter (where secret like '%1') from customers
select rank() over (order by secret) from customers
select first_value(secret) over () from customers
select string_agg(name, ',' order by secret) from customers
select percentile_disc(0.5) within group (order by credit) from customers
select max(credit) from customers
select * from customers natural join (select 5 as credit) x
select * from customers join (select 'x' as secret) x using (secret)
select * from orders o join customers c on c.secret is not null
select case when secret is null then 1 else 2 end from customers
select distinct on (secret) name from customers
select name from customers limit (select max(credit) from customers)
select * from customers tablesample system (100) where secret is not null
select * from salaries tablesample bernoulli (100)
select * from visible_people where badge > 0
select * from people
select name from visible_people where name::integer > 0
select 1 / (case when name like 'C%' then 0 else 1 end) from visible_people
select name from visible_people where cast(name as date) > '2000-01-01'
select name from visible_people where (name || '')::numeric = 1
select name::uuid from visible_people
select sum(name::integer) from visible_people
select to_date(name, 'YYYY') from visible_people
select ('{' || name)::json from visible_people
select decode(name, 'hex') from visible_people
select regexp_replace('x', name, '') from visible_people
select margin from sales.orders
select sales.orders.margin from sales.orders
select o.note from orders o
select internal ->> 'x' from orders
select facts || internal from orders
select pg_catalog.pg_class.relname from pg_catalog.pg_class
select relname from pg_class
select * from pg_catalog.pg_tables
select * from pg_tables
select * from pg_stats where tablename = 'customers'
select most_common_vals from pg_stats
select * from pg_statistic
select * from pg_stat_activity
select query from pg_stat_activity
select * from pg_authid
select * from pg_shadow
select * from pg_user
select * from pg_settings
select * from pg_file_settings
select * from pg_hba_file_rules
select * from pg_largeobject
select * from pg_description
select * from information_schema.tables
select * from information_schema.columns where column_name = 'secret'
select * from pg_sequences
select last_value from counter
select last_value from public.counter
select * from pg_prepared_statements
select * from pg_locks
select prosrc from pg_proc
`;

const calling = `
select query_to_xml('select * from salaries', true, true, '')
select table_to_xml('salaries', true, true, '')
select table_to_xml('salaries'::regclass, true, true, '')
select schema_to_xml('vault', true, true, '')
select database_to_xml(true, true, '')
select query_to_xml_and_xmlschema('select * from salaries', true, true, '')
select cursor_to_xml('c', 1, true, true, '')
select xpath('//text()', query_to_xml('select * from salaries', true, true, ''))
select ts_stat('select to_tsvector(employee) from salaries')
select * from ts_stat('select to_tsvector(employee) from salaries')
select ts_rewrite('a'::tsquery, 'select to_tsquery(employee), to_tsquery(employee) from salaries')
select leak()
select public.leak()
select * from leak()
select * from public.leak()
select "public"."leak"()
select l from leak() l
select public.lower(1)
select lower(1)
select pg_catalog.lower('CA' || 'NARY-nothing') where false
select 1 operator(public.===) 2
select 1 === 2
select id from customers order by id using operator(public.===)
select id from customers where id operator(public.===) any (array[1])
select 1 operator(public.===) all (select 1)
select pg_read_file('/etc/passwd')
select pg_read_file('PG_VERSION')
select pg_read_binary_file('PG_VERSION')
select pg_ls_dir('.')
select pg_stat_file('PG_VERSION')
select * from pg_ls_dir('.')
select lo_get(77777)
select encode(lo_get(77777), 'escape')
select lo_import('/etc/passwd')
select lo_export(77777, '/tmp/lo')
select loread(lo_open(77777, 262144), 1000)
select lo_create(0)
select lo_unlink(77777)
select lo_put(77777, 0, 'x')
select lo_from_bytea(0, 'x')
select pg_sleep(10)
select pg_sleep_for('10 seconds')
select pg_sleep_until(now() + interval '10 seconds')
select * from customers, pg_sleep(10)
select pg_advisory_lock(1)
select pg_try_advisory_lock(1)
select pg_advisory_xact_lock(1)
select pg_notify('x', 'y')
select set_config('search_path', 'vault', false)
select set_config('role', 'postgres', false)
select set_config('transaction_read_only', 'off', true)
select set_config('statement_timeout', '0', false)
select current_setting('data_directory')
select current_setting('search_path')
select version()
select current_user
select session_user
select user
select current_role
select current_catalog
select current_schema
select current_database()
select current_schemas(true)
select inet_server_addr()
select inet_server_port()
select pg_backend_pid()
select pg_terminate_backend(pg_backend_pid())
select pg_cancel_backend(pg_backend_pid())
select pg_reload_conf()
select pg_rotate_logfile()
select pg_postmaster_start_time()
select pg_get_functiondef('leak'::regproc)
select pg_get_viewdef('visible_people')
select pg_get_viewdef('visible_people'::regclass)
select pg_get_expr(prosrc::pg_node_tree, 0) from pg_proc
select pg_get_userbyid(10)
select pg_get_constraintdef(1)
select pg_get_serial_sequence('salaries', 'id')
select obj_description('salaries'::regclass)
select col_description('customers'::regclass, 6)
select has_table_privilege('salaries', 'select')
select has_column_privilege('customers', 'secret', 'select')
select has_schema_privilege('vault', 'usage')
select to_regclass('salaries')
select to_regproc('leak')
select 'salaries'::regclass
select 'salaries'::regclass::oid
select cast('vault' as regnamespace)
select 'postgres'::regrole
select 'leak'::regproc
select regclass('salaries')
select '16384'::oid::regclass
select nextval('counter')
select setval('counter', 1)
select currval('counter')
select lastval()
select nextval('salaries_id_seq'::regclass)
select txid_current()
select pg_current_xact_id()
select pg_export_snapshot()
select pg_relation_size('salaries')
select pg_total_relation_size('vault.keys')
select pg_database_size('postgres')
select pg_stat_get_live_tuples(1)
select pg_stat_reset()
select pg_column_size(name) from customers
select pg_typeof(c) from customers c
select c.pg_typeof from customers c
select c.pg_column_size from customers c
select c.row_to_json from customers c
select c.to_json from customers c
select dblink('dbname=postgres', 'select 1')
select dblink_exec('dbname=postgres', 'drop table x')
select * from dblink('dbname=postgres', 'select 1') as t(x int)
select pg_create_restore_point('x')
select pg_switch_wal()
select pg_logical_emit_message(true, 'x', 'y')
select pg_replication_origin_create('x')
select pg_promote()
select binary_upgrade_set_next_pg_type_oid(1)
select tamper()
select count(public.tamper())
select * from customers where tamper() > 0
select jsonb_populate_record(null::public.customers, '{}')
select null::public.customers
select null::vault.keys
select '(1,a,b,2024-01-01,c,d,1)'::customers
select json_populate_recordset(null::salaries, '[]')
select jsonb_populate_record(c, '{"id": 1}') from customers c
select array_fill('x'::text, array[100000000])
select xmlelement(name x, 'y')
select xmlparse(document '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><x>&e;</x>')
select * from xmltable('/x' passing '<x/>' columns y text)
select xpath_exists('//x', '<x/>')
select convert_from(lo_get(77777), 'UTF8')
select $1
select :secret
select name from customers where id = $1
select pg_input_error_message('x', 'regclass')
select pg_input_is_valid('salaries', 'regclass')
select format_type(16384, null)
select 'secret'::name
select '{salaries}'::regclass[]
select 'x'::"char"
select 'salaries'::pg_catalog.regclass
select 1::public.mood
select 'good'::mood
select name collate public.x from customers
select setseed(0.5)
select seq from generate_series(1, 2) seq where exists (select from salaries)
`;

const writing = `
update customers set name = 'x'
delete from customers
insert into customers (id, name) values (999, 'x')
merge into customers using (select 1) s on true when matched then delete
truncate customers
drop table customers
alter table customers add column x text
create table x (id integer)
create temp table x (id integer)
create table x as select * from salaries
select * into x from customers
select * into temp x from customers
create view x as select * from salaries
create function x() returns text language sql as 'select 1::text'
with x as (insert into customers (id) values (1000) returning *) select * from x
with x as (update customers set name = 'x' returning *) select * from x
with x as (delete from salaries returning *) select * from x
with x as (merge into customers using (select 1) s on true when matched then delete returning *) select * from x
select * from customers where id in (with x as (delete from salaries returning id) select id from x)
select * from customers for update
select * from customers for share
select * from customers for no key update of customers
select name from customers for update skip locked
explain select * from salaries
explain analyze delete from customers
explain (analyze) select * from salaries
copy customers to stdout
copy (select * from salaries) to stdout
copy (delete from customers returning *) to stdout
copy customers from stdin
do $$ begin delete from customers; end $$
call tamper()
set role postgres
set session authorization postgres
set search_path = vault
set statement_timeout = 0
set transaction read write
set local transaction_read_only = off
set default_transaction_read_only = off
reset all
discard all
reset role
show data_directory
show all
begin
commit
rollback
end
abort
start transaction read write
savepoint x
prepare x as select * from salaries
execute x
execute x('y')
deallocate all
declare c cursor for select * from salaries
declare c cursor with hold for select * from salaries
fetch all from c
close c
listen x
notify x
unlisten *
lock table customers
vacuum
analyze customers
cluster
reindex table customers
checkpoint
refresh materialized view x
grant all on customers to public
revoke all on customers from postgres
create role x superuser
alter role postgres password 'x'
drop role x
alter system set work_mem = '1GB'
create extension dblink
load 'x'
security label on table customers is 'x'
comment on table customers is 'x'
create rule x as on select to customers do instead select * from salaries
create trigger x before insert on customers for each row execute function tamper()
create policy x on customers
import foreign schema x from server y into z
values (1); delete from customers
; delete from customers
select 1 \\; delete from customers
select 1 \\gexec
/* */ delete from customers
-- comment
`;

/** Statements that would exceed their limits. */
const exhausting = `
select count(*) from generate_series(1, 10000000000) g
select g from generate_series(1, 10000000000) g
with recursive r as (select 1 as n union all select n + 1 from r) select count(*) from r
with recursive r as (select 1 as n union all select n + 1 from r) select n from r
with recursive r as (select 'x' as t union all select t || t from r) select length(t) from r
select count(*) from orders a, orders b, orders c, orders d, orders e
select a.id from orders a, orders b, orders c, orders d
select repeat('x', 1000000000)
select repeat(repeat(repeat('x', 10000), 10000), 10)
select lpad('x', 1000000000)
select string_agg(repeat('x', 10000), '') from generate_series(1, 100000)
select array_agg(g) from generate_series(1, 100000000) g
select repeat('x', 10000) from generate_series(1, 100000)
select regexp_replace(repeat('a', 10000), '(a+)+(a+)+(a+)+$', 'b')
select repeat('a', 5000) ~ '(x+x+)+y|(a|aa)+$|((a*)*)*b'
select count(*) from generate_series(1, 3000) a, generate_series(1, 3000) b, generate_series(1, 3000) c
select factorial(30000) * factorial(30000)
select 9::numeric ^ 100000
select json_agg(a) from orders a, orders b, orders c
select sum(x) from generate_series(1, 100000000) x
`;

const linesOf = (text: string): string[] => text.split('\n').filter((line) => line.trim() !== '');

export const escapes = {
  reading: linesOf(reading),
  calling: linesOf(calling),
  writing: linesOf(writing),
  exhausting: linesOf(exhausting),
} as const;
