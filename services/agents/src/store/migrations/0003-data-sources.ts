import { migration } from '@agent-service/store';

// A removed source keeps its row without a URL, so that a process with an old connection sees by the version that there is a newer one.
const dataSources = `
  create table data_sources (
    organization_id text not null,
    environment text not null check (environment in ('live', 'test')),
    url_sealed text,
    version integer not null check (version > 0),
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (organization_id, environment)
  );
`;

// A change of business data is claimed here before it is made, so that no other attempt makes it again. The claims of an answer go
// some days after it: an answer lives for minutes.
const answerSteps = `
  create table answer_steps (
    organization_id text not null,
    environment text not null check (environment in ('live', 'test')),
    answer_id text not null,
    step integer not null,
    attempt integer not null,
    description text not null,
    claimed_at timestamptz(3) not null,
    finished_at timestamptz(3),
    rows integer,
    undone boolean not null default false,
    primary key (organization_id, environment, answer_id, step, attempt)
  );
  create index answer_steps_claimed_at_index on answer_steps (claimed_at);
`;

export const dataSourcesMigration = migration('0003-data-sources', dataSources, answerSteps);
