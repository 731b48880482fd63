import { migration } from '@agent-service/store';

/**
 * Makes a table the first partition of a table by months, under the same name. It has all existing rows, also those of a process whose clock was
 * ahead, and the new ones until its last month ends. Replicas of the version before may run until then: they identify a row by its ctid
 * alone, which is unique in one partition.
 */
const byMonth = (table: string, column: string, indexes = '') => `
  alter table ${table} drop constraint ${table}_pkey;
  alter table ${table} add constraint ${table}_first_pkey primary key (organization_id, environment, id, ${column});
  alter table ${table} rename to ${table}_first;
  create table ${table} (like ${table}_first including defaults including constraints) partition by range (${column});
  alter table ${table} add primary key (organization_id, environment, id, ${column});
  ${indexes}
  do $$ begin
    execute format('alter table ${table} attach partition ${table}_first for values from (minvalue) to (%L)',
      to_char(date_trunc('month', greatest(now(), (select max(${column})::timestamptz from ${table}_first)) at time zone 'UTC')
        + interval '1 month', 'YYYY-MM-DD"T00:00:00Z"'));
  end $$;
`;

// The month in which the event was created: the same when the event is received again, so that an id is unique across partitions. Existing rows
// get the present month as a default, without being written.
const events = `
  do $$ begin
    execute format('alter table events add column month date not null default %L', date_trunc('month', now() at time zone 'UTC')::date);
  end $$;
  alter table events alter column month set default date_trunc('month', now() at time zone 'UTC')::date;
  drop index events_received_at_index;
  ${byMonth('events', 'month')}
`;

const renamedIndexes = ['endpoint', 'line', 'look_at']
  .map((name) => `alter index deliveries_${name}_index rename to deliveries_first_${name}_index;`)
  .join('\n');

const deliveryIndexes = `
  create index deliveries_endpoint_index on deliveries (endpoint_id, organization_id, environment, created_at desc);
  create index deliveries_line_index on deliveries (endpoint_id, organization_id, environment, state, due_at) where ended_at is null;
  create index deliveries_look_at_index on deliveries (look_at) where look_at is not null;
`;

const deliveries = `
  drop index deliveries_created_at_index;
  ${renamedIndexes}
  ${byMonth('deliveries', 'created_at', deliveryIndexes)}
`;

// The number of an endpoint's deliveries in each retained month. endpoints.deliveries is no longer read.
const counts = `
  alter table endpoints add column deliveries_by_month jsonb not null default '{}';
  update endpoints as endpoint set deliveries_by_month = counted.months from (
    select organization_id, environment, endpoint_id, jsonb_object_agg(month, deliveries) as months from (
      select organization_id, environment, endpoint_id, to_char(created_at at time zone 'UTC', 'YYYY-MM') as month, count(*) as deliveries
      from deliveries group by 1, 2, 3, 4) as each group by 1, 2, 3) as counted
  where endpoint.organization_id = counted.organization_id and endpoint.environment = counted.environment and endpoint.id = counted.endpoint_id;
`;

export const months = migration('0004-months', events, deliveries, counts);
