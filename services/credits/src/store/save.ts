import { newId, type Tenant } from '@agent-service/contracts';
import {
  arrayRows,
  assign,
  columnValues,
  insertInto,
  jsonRows,
  type RowColumns,
  type Sql,
  toArrays,
  toJson,
  toValues,
} from '@agent-service/store';
import type { Ledger, UserAccount } from '../domain/accounts.ts';
import { dayOf } from '../domain/calendar.ts';
import type { Hold, Outcome, Remembered, Transfer, UsageRecord } from '../domain/state.ts';
import type { LoadedState } from './load.ts';

/**
 * Writes the outcome of a batch of any size in one statement, if the ledger still has the stamp under which it was loaded. Returns
 * the ledger's new stamp; undefined if another process wrote the ledger first; nothing is written then.
 */
export async function saveOutcome(sql: Sql, tenant: Tenant, { state, stamp }: LoadedState, outcome: Outcome): Promise<string | undefined> {
  if (writesNothing(outcome)) return stamp;
  const parts = partsOf(state.holds, outcome);
  const all = [outcome.ledger === null ? touchLedger.of([]) : updateLedger.of([outcome.ledger]), ...parts];
  const values = [tenant.organizationId, tenant.environment, stamp, ...all.flatMap((part) => part.values)];
  const [saved] = await sql<{ stamp: string }>(statementOf(all.map(({ kind }) => kind)), values);
  return saved?.stamp;
}

/** True if an outcome has no rows: it is then saved without a look at the stamp. */
export const writesNothing = ({ ledger, holds, usage, remembered }: Outcome): boolean =>
  ledger === null && holds.length + usage.length + remembered.length === 0;

function partsOf(before: ReadonlyMap<string, unknown>, { ledger, users, transfers, holds, usage, remembered }: Outcome): Part[] {
  const newHolds = holds.filter(({ id }) => !before.has(id));
  const knownHolds = holds.filter(({ id }) => before.has(id));
  const parts: Part[] = [];
  if (ledger !== null && users.length > 0) parts.push(saveUsers.of(users));
  if (ledger !== null && transfers.length > 0) parts.push(addTransfers.of(transfers));
  if (newHolds.length > 0) parts.push(addHolds.of(newHolds));
  if (knownHolds.length > 0) parts.push(endHolds.of(knownHolds));
  if (usage.length > 0) parts.push(addUsage.of(usage));
  if (remembered.length > 0) parts.push(addOperations.of(remembered));
  return parts;
}

/** One of the writes that a statement is composed of. */
interface PartKind {
  readonly name: string;
  readonly parameters: number;
  /** The SQL of the part; `slot(n)` is the placeholder of its parameter n, from 0. */
  readonly text: (slot: Slot) => string;
}

type Slot = (n: number) => string;

interface Part {
  readonly kind: PartKind;
  readonly values: readonly unknown[];
}

/** The tenant and the stamp, which all parts share. */
const tenantColumns = { organization_id: '$1', environment: '$2' };
const sharedParameters = 3;

const texts = new Map<string, string>();

/** The statement of these parts, of which the first is the guard. It returns a row if the guard did. */
function statementOf(kinds: readonly PartKind[]): string {
  const key = kinds.map(({ name }) => name).join(' ');
  const text = texts.get(key) ?? composeStatement(kinds);
  texts.set(key, text);
  return text;
}

function composeStatement(kinds: readonly PartKind[]): string {
  let next = sharedParameters + 1;
  const parts = kinds.map(({ parameters, text }) => {
    const first = next;
    next += parameters;
    return text((n) => `$${first + n}`);
  });
  return `with ${parts.join(', ')} select stamp from guard`;
}

interface PartOptions<Row, Key extends string> {
  readonly name: string;
  /** Values that all rows share, taken from the first: a batch happens at one instant. */
  readonly common?: Readonly<Record<Key, RowColumns<Row>[string]>>;
  readonly columns?: RowColumns<Row>;
  /** Many rows go as an array for each column, a few as one JSON parameter. */
  readonly as?: 'arrays' | 'json';
  /** Every row must come `from guard`, so that nothing is written without it. */
  readonly text: (common: Readonly<Record<Key, string>>, rows: string) => string;
}

function definePart<Row, Key extends string>(options: PartOptions<Row, Key>): { kind: PartKind; of(rows: readonly Row[]): Part } {
  const { name, common = {} as Record<Key, never>, columns = {}, as = 'arrays', text } = options;
  const shared = Object.keys(common).length;
  const names = Object.keys(columns);
  const relation = (slot: Slot): string => {
    if (as === 'json') return jsonRows(columns, slot(shared), 'item');
    const placeholders = names.map((_, index) => slot(shared + index));
    return arrayRows(columns, placeholders, 'item');
  };
  const kind: PartKind = {
    name,
    parameters: shared + (as === 'json' ? 1 : names.length),
    text: (slot) =>
      text(
        columnValues(common, (_, index) => slot(index)),
        relation(slot),
      ),
  };
  const valuesOf = (rows: readonly Row[]) => (as === 'json' ? [toJson(columns, rows)] : toArrays(columns, rows));
  return { kind, of: (rows) => ({ kind, values: [...(rows[0] ? toValues(common, rows[0]) : []), ...valuesOf(rows)] }) };
}

/** Lets the rest of the statement happen only if the ledger still has the stamp under which it was read. */
const updateGuard = (changes: Readonly<Record<string, string>>): string => `guard as (
    update ledgers set ${assign({ stamp: 'gen_random_uuid()', ...changes })}
    where organization_id = $1 and environment = $2 and stamp = $3::uuid returning stamp)`;

/** A batch that leaves the ledger's figures as they were and writes other rows changes its stamp. */
const touchLedger = definePart<never, never>({ name: 'touch', text: () => updateGuard({}) });

const ledgerColumns: RowColumns<Ledger> = {
  unallocated: ['bigint', ({ pool }) => pool],
  allocated: ['bigint', ({ allocated }) => allocated],
  spent: ['bigint', ({ spent }) => spent],
  issued: ['bigint', ({ issued }) => issued],
  last_purchase: ['bigint', ({ lastPurchase }) => lastPurchase],
  auto_replenish: ['boolean', ({ settings }) => settings.autoReplenish],
  replenish_threshold: ['integer', ({ settings }) => settings.replenishThreshold],
  replenish_amount: ['integer', ({ settings }) => settings.replenishAmount],
  low_balance_threshold: ['integer', ({ settings }) => settings.lowBalanceThreshold],
  default_monthly_limit: ['integer', ({ settings }) => settings.defaultMonthlyLimit],
  updated_at: ['time', ({ updatedAt }) => updatedAt],
};

const updateLedger = definePart({ name: 'ledger', common: ledgerColumns, text: updateGuard });

const userColumns: RowColumns<UserAccount> = {
  user_id: ['text', ({ userId }) => userId],
  balance: ['bigint', ({ balance }) => balance],
  held: ['bigint', ({ onHold }) => onHold],
  monthly_limit: ['integer', ({ monthlyLimit }) => monthlyLimit],
  carried: ['integer', ({ carried }) => carried],
  used: ['bigint', ({ used }) => used],
  rollover: ['boolean', ({ rollover }) => rollover],
  month: ['integer', ({ month }) => month],
  effective_from: ['time', ({ effectiveFrom }) => effectiveFrom],
  updated_at: ['time', ({ updatedAt }) => updatedAt],
};

/** The named columns as an insert that meets its own row proposed them. */
const excluded = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, `excluded.${name}`]));

const saveUsers = definePart({
  name: 'users',
  columns: userColumns,
  as: 'json',
  text: (_, rows) => `users as (
    ${insertInto('user_accounts', { ...tenantColumns, ...columnValues(userColumns) })} from guard, ${rows}
    on conflict (organization_id, environment, user_id) do update set ${assign(excluded(Object.keys(userColumns).filter((name) => name !== 'user_id')))})`,
});

const transferColumns: RowColumns<Transfer> = {
  id: ['text', ({ id }) => id],
  code: ['text', ({ code }) => code],
  user_id: ['text', ({ userId }) => userId],
  amount: ['bigint', ({ amount }) => amount],
};

const addTransfers = definePart({
  name: 'transfers',
  common: { at: ['time', ({ at }: Transfer) => at] },
  columns: transferColumns,
  text: (common, rows) =>
    `transferred as (${insertInto('transfers', { ...tenantColumns, ...columnValues(transferColumns), ...common })} from guard, ${rows})`,
});

const holdColumns: RowColumns<Hold> = {
  id: ['text', ({ id }) => id],
  user_id: ['text', ({ userId }) => userId],
  amount: ['integer', ({ amount }) => amount],
  deadline: ['time', ({ deadline }) => deadline],
  state: ['text', ({ state }) => state],
  charge: ['integer', ({ charge }) => charge],
  settled_as: ['bigint', ({ settledAs }) => settledAs],
  refusal: ['jsonb', ({ refusal }) => (refusal === null ? null : JSON.stringify(refusal))],
};
/** Holds begin and end at the instant of their batch. */
const holdTime = { at: ['time', ({ createdAt, endedAt }: Hold) => endedAt ?? createdAt] } as const;

const insertHolds = ({ at }: { at: string }, rows: string): string =>
  `${insertInto('holds', {
    ...tenantColumns,
    ...columnValues(holdColumns),
    created_at: at,
    ended_at: `case when state <> 'open' then ${at} end`,
  })} from guard, ${rows}`;

const addHolds = definePart({
  name: 'holds',
  common: holdTime,
  columns: holdColumns,
  text: (common, rows) => `held as (${insertHolds(common, rows)})`,
});

// An insert that always meets its row uses the key: for an update joined with arrays the planner may read all holds of the tenant.
const endHolds = definePart({
  name: 'ended',
  common: holdTime,
  columns: holdColumns,
  text: (common, rows) => `ended as (${insertHolds(common, rows)}
    on conflict (organization_id, environment, id) do update set ${assign(excluded(['state', 'charge', 'settled_as', 'ended_at']))})`,
});

const operationColumns: RowColumns<Remembered> = {
  id: ['text', ({ id }) => id],
  fingerprint: ['bigint', ({ fingerprint }) => fingerprint],
  result: ['jsonb', ({ result }) => result],
  at: ['time', ({ at }) => at],
};

const addOperations = definePart({
  name: 'operations',
  columns: operationColumns,
  as: 'json',
  text: (_, rows) =>
    `remembered as (${insertInto('operations', { ...tenantColumns, ...columnValues(operationColumns) })} from guard, ${rows})`,
});

const usageColumns: RowColumns<UsageRecord> = {
  id: ['text', () => newId('use')],
  hold_id: ['text', ({ holdId }) => holdId],
  user_id: ['text', ({ userId }) => userId],
  agent_id: ['text', ({ agentId }) => agentId],
  agent_name: ['text', ({ agentName }) => agentName],
  conversation_id: ['text', ({ conversationId }) => conversationId],
  tier: ['text', ({ tier }) => tier],
  credits: ['integer', ({ credits }) => credits],
  input_tokens: ['integer', ({ inputTokens }) => inputTokens],
  output_tokens: ['integer', ({ outputTokens }) => outputTokens],
  query_summary: ['text', ({ querySummary }) => querySummary],
};

/** Usage records with their rollups, in the statement that charges. */
const addUsage = definePart({
  name: 'usage',
  common: { day: ['date', ({ at }: UsageRecord) => dayOf(at)], at: ['time', ({ at }: UsageRecord) => at] },
  columns: usageColumns,
  text: ({ day, at }, rows) =>
    [
      `used as (select item.* from guard, ${rows})`,
      `records as (${insertInto('usage_records', { ...tenantColumns, at, ...columnValues(usageColumns) })} from used)`,
      ...Object.entries(rollups).map(([table, keys]) => addToRollup(table, keys, `${day}::date`)),
      countUsers(`${day}::date`, `${day}::timestamp`),
      nameAgents(`${day}::date`),
    ].join(', '),
});

/** The rollups and their keys beside the day. */
export const rollups: Readonly<Record<string, readonly string[]>> = {
  usage_by_tier: ['tier'],
  usage_by_user: ['user_id', 'tier'],
  usage_by_agent: ['agent_id', 'tier'],
  usage_by_user_agent: ['user_id', 'agent_id', 'tier'],
  usage_user_days: ['user_id'],
};

/** Adds to the day's row of each key, or inserts it with the running totals of the key's last earlier day. */
function addToRollup(table: string, keys: readonly string[], day: string): string {
  const columns = keys.join(', ');
  return `${table} as (
    insert into ${table} as existing (organization_id, environment, ${columns}, day, credits, queries, credits_total, queries_total)
    select $1, $2, ${keys.map((key) => `today.${key}`).join(', ')}, ${day}, today.credits, today.queries,
      today.credits + coalesce(before.credits_total, 0), today.queries + coalesce(before.queries_total, 0)
    from (select ${columns}, sum(credits) as credits, count(*) as queries from used group by ${columns}) as today
    left join lateral (
      select credits_total, queries_total from ${table} as earlier
      where organization_id = $1 and environment = $2 and ${keys.map((key) => `earlier.${key} = today.${key}`).join(' and ')}
        and day < ${day} order by day desc limit 1
    ) as before on true
    on conflict (organization_id, environment, ${columns}, day) do update set
      credits = existing.credits + excluded.credits, queries = existing.queries + excluded.queries,
      credits_total = existing.credits_total + excluded.credits, queries_total = existing.queries_total + excluded.queries
  )`;
}

// The look-ups have a limit, so that the planner uses the keys: a join may read all users of the tenant, and their pairs with agents.
/** Counts users in their first use of a day, week or month, of one agent and of any ('' as the agent). */
const countUsers = (day: string, midnight: string) => `newcomers as (
    select '' as agent_id, today.user_id, known.last_day
    from (select distinct user_id from used) as today
    left join lateral (
      select last_day from usage_users as seen where organization_id = $1 and environment = $2 and seen.user_id = today.user_id limit 1
    ) as known on true
    where known.last_day is distinct from ${day}
    union all
    select today.agent_id, today.user_id, known.last_day
    from (select distinct user_id, agent_id from used) as today
    left join lateral (
      select last_day from usage_user_agents as seen
      where organization_id = $1 and environment = $2 and seen.user_id = today.user_id and seen.agent_id = today.agent_id limit 1
    ) as known on true
    where known.last_day is distinct from ${day}
  ), counted as (
    insert into usage_unique_users as existing (organization_id, environment, agent_id, grain, period, users)
    select $1, $2, agent_id, grain, date_trunc(grain, ${midnight})::date, count(*)
    from newcomers, unnest(array['day', 'week', 'month']) as grain
    where last_day is null or last_day < date_trunc(grain, ${midnight})
    group by agent_id, grain
    on conflict (organization_id, environment, agent_id, grain, period) do update set users = existing.users + excluded.users
  ), users_of_day as (
    insert into usage_users as existing (organization_id, environment, user_id, first_day, last_day, credits_total, queries_total)
    select $1, $2, user_id, ${day}, ${day}, sum(credits), count(*) from used group by user_id
    on conflict (organization_id, environment, user_id) do update set last_day = excluded.last_day,
      credits_total = existing.credits_total + excluded.credits_total, queries_total = existing.queries_total + excluded.queries_total
  ), pairs_of_day as (
    insert into usage_user_agents as existing (organization_id, environment, user_id, agent_id, first_day, last_day)
    select $1, $2, user_id, agent_id, ${day}, ${day} from newcomers where agent_id <> ''
    on conflict (organization_id, environment, user_id, agent_id) do update set last_day = excluded.last_day
  )`;

/** Keeps the name that an agent had in its last use. */
const nameAgents = (day: string) => `agents_of_day as (
    insert into usage_agents as existing (organization_id, environment, agent_id, name, first_day, last_day)
    select distinct on (agent_id) $1, $2, agent_id, agent_name, ${day}, ${day} from used order by agent_id, id desc
    on conflict (organization_id, environment, agent_id) do update set name = excluded.name, last_day = excluded.last_day
    where (existing.name, existing.last_day) <> (excluded.name, excluded.last_day)
  )`;

const parts = [saveUsers, addTransfers, addHolds, endHolds, addUsage, addOperations].map(({ kind }) => kind);

/** The statement of each part alone and that of all parts, with both guards. Batches combine parts as they need. */
export const saveStatements: Readonly<Record<string, string>> = Object.fromEntries(
  [touchLedger.kind, updateLedger.kind].flatMap((guard) =>
    [...parts.map((part) => [part]), parts].map((kinds) => {
      const names = [guard, ...kinds].map(({ name }) => name);
      return [names.join(' '), composeStatement([guard, ...kinds])];
    }),
  ),
);
