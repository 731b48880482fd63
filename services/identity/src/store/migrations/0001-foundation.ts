import { idempotencyTable, migration, outboxTable } from '@agent-service/store';

const organizations = `
  create table organizations (
    id text primary key,
    name text not null,
    created_at timestamptz(3) not null
  );
`;

// Counters, because a total must not cost more the more users there are.
const users = `
  create table users (
    organization_id text not null references organizations (id),
    id text not null unique,
    kind text not null check (kind in ('person', 'service')),
    name text not null,
    email text not null,
    role text not null check (role in ('admin', 'member')),
    status text not null check (status in ('active', 'deactivated')),
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (organization_id, id)
  );
  create unique index users_email_unique on users (organization_id, lower(email)) where email <> '';
  create index users_created_at_index on users (organization_id, created_at desc, id desc);
  create index users_role_index on users (organization_id, role, created_at desc, id desc);
  create index users_status_index on users (organization_id, status, created_at desc, id desc);

  create table user_counts (
    organization_id text not null references organizations (id),
    role text not null,
    status text not null,
    users bigint not null check (users >= 0),
    primary key (organization_id, role, status)
  );

  create function count_user() returns trigger language plpgsql as $$
  begin
    if tg_op = 'UPDATE' and (old.role, old.status) = (new.role, new.status) then return null; end if;
    if tg_op <> 'INSERT' then
      update user_counts set users = users - 1 where organization_id = old.organization_id and role = old.role and status = old.status;
    end if;
    if tg_op <> 'DELETE' then
      insert into user_counts (organization_id, role, status, users) values (new.organization_id, new.role, new.status, 1)
      on conflict (organization_id, role, status) do update set users = user_counts.users + 1;
    end if;
    return null;
  end $$;
  create trigger users_counted after insert or update or delete on users for each row execute function count_user();
`;

const credentials = `
  create table api_keys (
    organization_id text not null,
    id text not null unique,
    environment text not null check (environment in ('live', 'test')),
    user_id text not null,
    hash text not null unique,
    hint text not null,
    scopes text[] not null,
    admin boolean not null,
    token_ttl_seconds integer check (token_ttl_seconds between 300 and 86400),
    created_at timestamptz(3) not null,
    revoked_at timestamptz(3),
    primary key (organization_id, id),
    foreign key (organization_id, user_id) references users (organization_id, id)
  );
  create index api_keys_user_id_index on api_keys (organization_id, user_id);

  create table oauth_clients (
    organization_id text not null,
    id text not null unique,
    environment text not null check (environment in ('live', 'test')),
    user_id text not null,
    secret_hash text not null,
    scopes text[] not null,
    created_at timestamptz(3) not null,
    revoked_at timestamptz(3),
    primary key (organization_id, id),
    foreign key (organization_id, user_id) references users (organization_id, id)
  );
  create index oauth_clients_user_id_index on oauth_clients (organization_id, user_id);

  create table signing_keys (
    kid text primary key,
    modulus text not null,
    exponent text not null,
    private_key text not null,
    created_at timestamptz(3) not null default now(),
    activates_at timestamptz(3) not null
  );
  create index signing_keys_activates_at_index on signing_keys (activates_at);
`;

// Entries are only ever added: the trigger refuses everything else, also for the service's own role.
const audit = `
  create table audit_chains (
    organization_id text primary key,
    length bigint not null default 0,
    head text not null,
    counts jsonb not null default '{}'
  );

  create table audit_entries (
    organization_id text not null,
    sequence bigint not null,
    id text not null,
    environment text not null,
    created_at timestamptz(3) not null,
    actor_type text not null,
    actor_id text not null,
    actor_key_id text not null,
    action text not null,
    target_type text not null,
    target_id text not null,
    outcome text not null,
    request_id text not null,
    changes_json text not null,
    hash text not null,
    primary key (organization_id, sequence)
  );
  create unique index audit_entries_id_unique on audit_entries (organization_id, id);
  create index audit_entries_created_at_index on audit_entries (organization_id, environment, created_at desc, id desc);
  create index audit_entries_actor_index on audit_entries (organization_id, environment, actor_id, created_at desc, id desc);
  create index audit_entries_action_index on audit_entries (organization_id, environment, action, created_at desc, id desc);
  create index audit_entries_target_index on audit_entries (organization_id, environment, target_id, created_at desc, id desc);

  create function refuse_change() returns trigger language plpgsql as $$
  begin
    raise exception 'audit entries are append-only';
  end $$;
  create trigger audit_entries_append_only before update or delete or truncate on audit_entries for each statement execute function refuse_change();
`;

export const foundation = migration('0001-foundation', organizations, users, credentials, audit, idempotencyTable, outboxTable);
