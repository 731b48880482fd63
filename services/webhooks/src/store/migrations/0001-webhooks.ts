import { idempotencyTable, migration, outboxTable } from '@agent-service/store';

// look_at: when the queue of the endpoint's deliveries is checked; null while it is empty. Deliveries that were created up to void_before are
// dropped; voiding: some of them may still exist.
const endpoints = `
  create table endpoints (
    organization_id text not null,
    environment text not null check (environment in ('live', 'test')),
    id text not null,
    url text not null,
    events text[] not null,
    description text not null,
    active boolean not null,
    secret text not null,
    previous_secret text,
    previous_secret_until timestamptz(3),
    status text not null default 'healthy' check (status in ('healthy', 'failing', 'disabled')),
    failing_since timestamptz(3),
    first_failure_at timestamptz(3),
    failed_events integer not null default 0,
    last_delivery_at timestamptz(3),
    deliveries bigint not null default 0 check (deliveries >= 0),
    look_at timestamptz(3),
    void_before timestamptz(3),
    voiding boolean not null default false,
    deleted_at timestamptz(3),
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (organization_id, environment, id),
    constraint endpoints_disabled_are_inactive check (status <> 'disabled' or not active)
  ) with (fillfactor = 50);
  create index endpoints_created_at_index on endpoints (organization_id, environment, created_at desc, id desc) where deleted_at is null;
  create index endpoints_look_at_index on endpoints (look_at) where look_at is not null;
  create index endpoints_voiding_index on endpoints (organization_id, environment, id) where voiding;
  create index endpoints_deleted_at_index on endpoints (deleted_at) where deleted_at is not null;
`;

const events = `
  create table events (
    organization_id text not null,
    environment text not null,
    id text not null,
    type text not null,
    body text not null,
    received_at timestamptz(3) not null,
    primary key (organization_id, environment, id)
  );
  create index events_received_at_index on events using brin (received_at) with (pages_per_range = 32, autosummarize = on);
`;

// waiting: in its endpoint's queue, from due_at on. armed: in flight, by a job that may have other deliveries and is checked at look_at. The
// outcome of a dispatcher counts only while dispatch is the number that it was given. A delivery is written three times, so it has few
// indexes: a block range index finds old ones. The others begin with the endpoint, because PostgreSQL without statistics would otherwise
// look up one delivery by an index of its tenant instead of by the key.
const deliveries = `
  create table deliveries (
    organization_id text not null,
    environment text not null,
    id text not null,
    endpoint_id text not null,
    event_id text not null,
    event_type text not null,
    redelivery_of text,
    test boolean not null default false,
    state text not null check (state in ('waiting', 'armed', 'delivered', 'failed', 'dropped')),
    due_at timestamptz(3) not null,
    look_at timestamptz(3),
    job text,
    dispatch integer not null default 0,
    attempts_made integer not null default 0,
    attempts jsonb not null default '[]',
    last_failure_at timestamptz(3),
    response_status integer not null default 0,
    response_body text not null default '',
    created_at timestamptz(3) not null,
    ended_at timestamptz(3),
    primary key (organization_id, environment, id),
    constraint deliveries_ended check ((ended_at is null) = (state in ('waiting', 'armed'))),
    constraint deliveries_looked_after check ((look_at is not null) = (state = 'armed')),
    constraint deliveries_armed_by check (job is not null or state <> 'armed')
  ) with (fillfactor = 70);
  create index deliveries_endpoint_index on deliveries (endpoint_id, organization_id, environment, created_at desc);
  create index deliveries_line_index on deliveries (endpoint_id, organization_id, environment, state, due_at) where ended_at is null;
  create index deliveries_look_at_index on deliveries (look_at) where look_at is not null;
  create index deliveries_created_at_index on deliveries using brin (created_at) with (pages_per_range = 32, autosummarize = on);
`;

// E-mails to administrators.
const notices = `
  create table notices (
    organization_id text not null,
    environment text not null,
    id text not null,
    notice jsonb not null,
    try_at timestamptz(3) not null,
    tries integer not null default 0,
    created_at timestamptz(3) not null,
    primary key (organization_id, environment, id)
  );
  create index notices_try_at_index on notices (try_at);
`;

export const webhooks = migration('0001-webhooks', endpoints, events, deliveries, notices, idempotencyTable, outboxTable);
