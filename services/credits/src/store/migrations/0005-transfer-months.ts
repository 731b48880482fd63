import { migration } from '@agent-service/store';

const columns = `
    organization_id text not null,
    environment text not null,
    id text not null,
    code text not null,
    user_id text,
    amount bigint not null,
    at timestamptz(3) not null,
    primary key (organization_id, environment, at, id),
    constraint transfers_code_check check (code in ('purchase', 'replenish', 'fill', 'return', 'hold', 'release', 'charge')),
    constraint transfers_amount_check check (amount > 0),
    constraint transfers_name_their_user check ((user_id is null) = (code in ('purchase', 'replenish')))`;

// The existing table becomes the partition of its newest month and all months before. Processes of the version before insert with the
// same names. The key of the hold, not that of its transfer, prevents a second hold.
const partition = `
  do $$
  declare
    newest date := date_trunc('month', greatest(now(), (select max(at) from transfers)) at time zone 'UTC');
    kept text := 'transfers_' || to_char(newest, 'YYYY_MM');
  begin
    drop trigger transfers_append_only on transfers;
    alter table transfers drop constraint transfers_pkey;
    execute format('alter table transfers rename to %I', kept);
    create table transfers (${columns}) partition by range (at);
    execute format('alter table transfers attach partition %I for values from (minvalue) to (%L)', kept,
      to_char(newest + interval '1 month', 'YYYY-MM-DD') || ' 00:00:00+00');
  end $$;
  create trigger transfers_append_only before update or delete on transfers for each row execute function refuse_change();
  create trigger transfers_not_truncated before truncate on transfers for each statement execute function refuse_change();
`;

// The sums of the transfers and usage records of a past month, for each user. User '' has the transfers without a user.
const sums = `
  create table proven_months (
    organization_id text not null,
    environment text not null,
    month integer not null,
    user_id text not null,
    balance bigint not null,
    held bigint not null,
    pool bigint not null,
    spent bigint not null,
    outside bigint not null,
    used bigint not null,
    primary key (organization_id, environment, month, user_id)
  );
`;

// Done before the step, which would otherwise lock the table for as long: builds the key of the partitioned table and checks the month of
// every row. The step drops the constraint that has the name of the old key.
const preparation = [
  `do $$ begin
     if exists (select 1 from pg_index where indexrelid = to_regclass('transfers_months_pkey') and not indisvalid) then
       drop index transfers_months_pkey;
     end if;
   end $$`,
  'create unique index concurrently if not exists transfers_months_pkey on transfers (organization_id, environment, at, id)',
  `do $$ begin
     if not exists (select 1 from pg_constraint where conrelid = 'transfers'::regclass and conname = 'transfers_months_pkey') then
       alter table transfers drop constraint transfers_pkey,
         add constraint transfers_months_pkey primary key using index transfers_months_pkey, add constraint transfers_pkey check (true);
     end if;
   end $$`,
  `do $$
   declare
     newest date := date_trunc('month', greatest(now(), (select max(at) from transfers)) at time zone 'UTC');
   begin
     alter table transfers drop constraint if exists transfers_months_check;
     execute format('alter table transfers add constraint transfers_months_check check (at < %L) not valid',
       to_char(newest + interval '1 month', 'YYYY-MM-DD') || ' 00:00:00+00');
   end $$`,
  'alter table transfers validate constraint transfers_months_check',
];

export const transferMonths = { ...migration('0005-transfer-months', partition, sums), preparation };
