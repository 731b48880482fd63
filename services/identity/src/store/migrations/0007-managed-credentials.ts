import { keyVersionIndex, migration } from '@agent-service/store';
import { sealedOutcomes } from '../credentials.ts';

// After a rotation the old key may stay valid for a while: it `ends_later`, at `revoked_at`. A replica from before knows no such end and
// refuses the key at once. Only with `ends_later` does validity depend on a clock, so no wrong clock restores a revoked key.
const columns = `
  alter table api_keys add column name text not null default '', add column replaced_by text,
    add column ends_later boolean not null default false;
  alter table oauth_clients add column name text not null default '', add column previous_secret_hash text,
    add column previous_secret_until timestamptz(3), add column tokens_since timestamptz(3);
`;

const indexes = ['api_keys', 'oauth_clients'].map(
  (table) => `
  create index ${table}_created_at_index on ${table} (environment, organization_id, created_at desc, id desc);
  create index ${table}_active_index on ${table} (environment, organization_id, (revoked_at is null), created_at desc, id desc);
`,
);

const indexesByUser = `
  create index api_keys_user_created_at_index on api_keys (organization_id, environment, user_id, created_at desc, id desc);
  create index api_keys_user_active_index on api_keys (organization_id, environment, user_id, (revoked_at is null), created_at desc, id desc);
`;

// Apart from the credentials, so that recording a use neither waits for a revocation nor rewrites the rows that authentication reads.
const uses = `
  create table credential_uses (
    credential_id text primary key,
    organization_id text not null,
    last_used_at timestamptz(3) not null
  ) with (fillfactor = 70);
`;

// Counters, because a total must not cost more the more keys there are. The row without a user counts all of the tenant. One statement
// counts all of its rows at once: a deactivation may end thousands of keys.
const counts = `
  create table credential_counts (
    organization_id text not null,
    environment text not null,
    kind text not null,
    user_id text not null,
    is_active boolean not null,
    credentials bigint not null,
    primary key (organization_id, environment, kind, user_id, is_active)
  );

  create function count_credentials() returns trigger language plpgsql as $$
  begin
    if tg_op = 'INSERT' then
      insert into credential_counts
      select organization_id, environment, tg_argv[0], counted, revoked_at is null, count(*)
      from added, lateral (values (user_id), ('')) as owners (counted) group by 1, 2, 4, 5 order by 1, 2, 4, 5
      on conflict (organization_id, environment, kind, user_id, is_active)
      do update set credentials = credential_counts.credentials + excluded.credentials;
    else
      insert into credential_counts
      select organization_id, environment, tg_argv[0], counted, is_active, sum(change)
      from (select organization_id, environment, user_id, revoked_at is null as is_active, 1 as change from added
        union all select organization_id, environment, user_id, revoked_at is null, -1 from removed) as changes,
        lateral (values (user_id), ('')) as owners (counted)
      group by 1, 2, 4, 5 having sum(change) <> 0 order by 1, 2, 4, 5
      on conflict (organization_id, environment, kind, user_id, is_active)
      do update set credentials = credential_counts.credentials + excluded.credentials;
    end if;
    return null;
  end $$;
`;

const counted = (table: string, kind: string) => `
  create trigger ${table}_added after insert on ${table} referencing new table as added
    for each statement execute function count_credentials('${kind}');
  create trigger ${table}_changed after update on ${table} referencing old table as removed new table as added
    for each statement execute function count_credentials('${kind}');
  insert into credential_counts
  select organization_id, environment, '${kind}', counted, revoked_at is null, count(*)
  from ${table}, lateral (values (user_id), ('')) as owners (counted) group by 1, 2, 4, 5;
`;

export const managedCredentials = migration(
  '0007-managed-credentials',
  columns,
  ...indexes,
  indexesByUser,
  uses,
  counts,
  counted('api_keys', 'api_key'),
  counted('oauth_clients', 'oauth_application'),
  keyVersionIndex(sealedOutcomes),
);
