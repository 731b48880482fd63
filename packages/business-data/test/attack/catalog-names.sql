-- What PostgreSQL may read into a name: run by psql -At on each supported major version (13 to 18); catalog-names.txt is the sorted union.
select distinct 'function ' || proname from pg_proc
  where pronamespace = 'pg_catalog'::regnamespace and (provariadic <> 0 or (pronargs >= 1 and pronargs - pronargdefaults <= 1))
union select distinct 'type ' || typname from pg_type
  where typnamespace = 'pg_catalog'::regnamespace
union select distinct 'column ' || attname from pg_attribute a join pg_class c on c.oid = attrelid
  where relnamespace = 'pg_catalog'::regnamespace and attnum <> 0 and (attnum < 0 or relname in ('pg_class', 'pg_authid', 'pg_stat_activity', 'pg_stats', 'pg_proc'))
union select distinct 'operator ' || oprname from pg_operator where oprnamespace = 'pg_catalog'::regnamespace
order by 1;
