import { defineEntity, environment, migratedIndex, p, timestamp } from '@agent-service/store/entities';

const tenant = { organizationId: p.text().primary(), environment: environment().primary() };
/** The environment of most tables has no check: only `ledgers` has one. */
const looseTenant = { organizationId: p.text().primary(), environment: p.text().primary() };
const bigint = () => p.bigint('number');

/** A check that a column is not below zero, under the name that PostgreSQL gives it. */
const notNegative = (table: string, column: string) => ({
  name: `${table}_${column}_check`,
  property: toProperty(column),
  expression: `${column} >= 0`,
});
const toProperty = (column: string) => column.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());

/** One row for each tenant. Every write of the tenant's ledger changes its stamp. */
const LedgerEntity = defineEntity({
  name: 'Ledger',
  tableName: 'ledgers',
  checks: [
    ...['unallocated', 'allocated', 'spent', 'issued', 'replenish_threshold', 'low_balance_threshold', 'default_monthly_limit'].map(
      (column) => notNegative('ledgers', column),
    ),
    { name: 'ledgers_replenish_amount_check', property: 'replenishAmount', expression: 'replenish_amount > 0' },
    { name: 'ledgers_balanced', expression: 'issued = unallocated + allocated + spent' },
  ],
  properties: {
    ...tenant,
    unallocated: bigint().defaultRaw('0'),
    allocated: bigint().defaultRaw('0'),
    spent: bigint().defaultRaw('0'),
    issued: bigint().defaultRaw('0'),
    lastPurchase: bigint().defaultRaw('0'),
    autoReplenish: p.boolean(),
    replenishThreshold: p.integer(),
    replenishAmount: p.integer(),
    lowBalanceThreshold: p.integer().nullable(),
    defaultMonthlyLimit: p.integer(),
    updatedAt: timestamp(),
    stamp: p.uuid().defaultRaw('gen_random_uuid()'),
  },
});

const UserAccountEntity = defineEntity({
  name: 'UserAccount',
  tableName: 'user_accounts',
  indexes: [{ name: 'user_accounts_month_index', properties: ['month', 'ledger', 'userId'] }],
  checks: [
    ...['balance', 'monthly_limit', 'carried', 'used'].map((column) => notNegative('user_accounts', column)),
    { name: 'user_accounts_held_check', property: 'onHold', expression: 'held >= 0' },
    { name: 'user_accounts_carried_within_limit', expression: 'carried <= monthly_limit' },
    {
      name: 'user_accounts_balance_within_limit',
      expression: 'balance <= greatest(0, monthly_limit::bigint + carried - used - held)',
    },
  ],
  properties: {
    ledger: () =>
      p
        .manyToOne(LedgerEntity)
        .primary()
        .joinColumns('organization_id', 'environment')
        .updateRule('no action')
        .foreignKeyName('user_accounts_organization_id_environment_fkey'),
    userId: p.text().primary(),
    balance: bigint(),
    onHold: bigint().name('held'),
    monthlyLimit: p.integer(),
    carried: p.integer(),
    used: bigint(),
    rollover: p.boolean(),
    month: p.integer(),
    effectiveFrom: timestamp(),
    updatedAt: timestamp(),
  },
});

/** An ended hold stays for a while, so that repeats get its outcome. */
const HoldEntity = defineEntity({
  name: 'Hold',
  tableName: 'holds',
  indexes: [migratedIndex('holds_open_index'), migratedIndex('holds_ended_index')],
  checks: [
    ...['amount', 'charge'].map((column) => notNegative('holds', column)),
    { name: 'holds_charge_within_amount', expression: 'charge <= amount' },
    { name: 'holds_end_with_state', expression: "(state = 'open') = (ended_at is null)" },
    { name: 'holds_charged_when_settled', expression: "charge = 0 or state = 'settled'" },
  ],
  properties: {
    ...looseTenant,
    id: p.text().primary(),
    userId: p.text(),
    amount: p.integer(),
    deadline: timestamp(),
    state: p.enum(['open', 'settled', 'released', 'refused', 'void'] as const),
    charge: p.integer(),
    settledAs: bigint().nullable(),
    refusal: p.json<unknown>().nullable(),
    createdAt: timestamp(),
    endedAt: timestamp().nullable(),
  },
});

/** Results of grants, allocations and changes of settings, refusals included. */
const OperationEntity = defineEntity({
  name: 'Operation',
  tableName: 'operations',
  indexes: [migratedIndex('operations_at_index')],
  properties: {
    ...looseTenant,
    id: p.text().primary(),
    fingerprint: bigint(),
    result: p.json<unknown>(),
    at: timestamp(),
  },
});

/** Append-only, and partitioned by month. */
const TransferEntity = defineEntity({
  name: 'Transfer',
  tableName: 'transfers',
  triggers: [{ name: 'transfers_append_only', timing: 'before', events: ['update', 'delete'], expression: 'see the migrations' }],
  checks: [
    { name: 'transfers_amount_check', property: 'amount', expression: 'amount > 0' },
    { name: 'transfers_name_their_user', expression: "(user_id is null) = (code in ('purchase', 'replenish'))" },
  ],
  properties: {
    ...looseTenant,
    at: timestamp().primary(),
    id: p.text().primary(),
    code: p.enum(['purchase', 'replenish', 'fill', 'return', 'hold', 'release', 'charge'] as const),
    userId: p.text().nullable(),
    amount: bigint(),
  },
});

/** Sums of the transfers and records of a month that is over, for each user and, as user '', for transfers without one. */
const ProvenMonthEntity = defineEntity({
  name: 'ProvenMonth',
  tableName: 'proven_months',
  properties: {
    ...looseTenant,
    month: p.integer().primary(),
    userId: p.text().primary(),
    balance: bigint(),
    onHold: bigint().name('held'),
    pool: bigint(),
    spent: bigint(),
    outside: bigint(),
    used: bigint(),
  },
});

/** Partitioned by month. */
const UsageRecordEntity = defineEntity({
  name: 'UsageRecord',
  tableName: 'usage_records',
  indexes: [
    { name: 'usage_records_user_index', properties: ['organizationId', 'environment', 'userId', 'at', 'id'] },
    { name: 'usage_records_agent_index', properties: ['organizationId', 'environment', 'agentId', 'at', 'id'] },
  ],
  checks: ['credits', 'input_tokens', 'output_tokens'].map((column) => notNegative('usage_records', column)),
  properties: {
    ...looseTenant,
    at: timestamp().primary(),
    id: p.text().primary(),
    holdId: p.text(),
    userId: p.text(),
    agentId: p.text(),
    agentName: p.text(),
    conversationId: p.text(),
    tier: p.text(),
    credits: p.integer(),
    inputTokens: p.integer(),
    outputTokens: p.integer(),
    querySummary: p.text(),
  },
});

/** A rollup has a day's sums of its keys, and their running totals up to and with that day. */
const rollupChecks = (table: string) => [
  notNegative(table, 'credits'),
  { name: `${table}_queries_check`, property: 'queries', expression: 'queries > 0' },
  { name: `${table}_check`, expression: 'credits_total >= credits and queries_total >= queries' },
];
const rollupSums = {
  day: p.date().primary(),
  credits: bigint(),
  queries: bigint(),
  creditsTotal: bigint(),
  queriesTotal: bigint(),
};

const UsageByTierEntity = defineEntity({
  name: 'UsageByTier',
  tableName: 'usage_by_tier',
  checks: rollupChecks('usage_by_tier'),
  properties: { ...looseTenant, tier: p.text().primary(), ...rollupSums },
});
const UsageByUserEntity = defineEntity({
  name: 'UsageByUser',
  tableName: 'usage_by_user',
  checks: rollupChecks('usage_by_user'),
  properties: { ...looseTenant, userId: p.text().primary(), tier: p.text().primary(), ...rollupSums },
});
const UsageByAgentEntity = defineEntity({
  name: 'UsageByAgent',
  tableName: 'usage_by_agent',
  checks: rollupChecks('usage_by_agent'),
  properties: { ...looseTenant, agentId: p.text().primary(), tier: p.text().primary(), ...rollupSums },
});
const UsageByUserAgentEntity = defineEntity({
  name: 'UsageByUserAgent',
  tableName: 'usage_by_user_agent',
  checks: rollupChecks('usage_by_user_agent'),
  properties: { ...looseTenant, userId: p.text().primary(), agentId: p.text().primary(), tier: p.text().primary(), ...rollupSums },
});
const UsageUserDayEntity = defineEntity({
  name: 'UsageUserDay',
  tableName: 'usage_user_days',
  checks: rollupChecks('usage_user_days'),
  properties: { ...looseTenant, userId: p.text().primary(), ...rollupSums },
});

const firstAndLast = { firstDay: p.date(), lastDay: p.date() };

const UsageUserEntity = defineEntity({
  name: 'UsageUser',
  tableName: 'usage_users',
  properties: {
    ...looseTenant,
    userId: p.text().primary(),
    ...firstAndLast,
    creditsTotal: bigint(),
    queriesTotal: bigint(),
  },
});
const UsageAgentEntity = defineEntity({
  name: 'UsageAgent',
  tableName: 'usage_agents',
  properties: { ...looseTenant, agentId: p.text().primary(), name: p.text(), ...firstAndLast },
});
const UsageUserAgentEntity = defineEntity({
  name: 'UsageUserAgent',
  tableName: 'usage_user_agents',
  indexes: [{ name: 'usage_user_agents_agent_index', properties: ['organizationId', 'environment', 'agentId', 'userId'] }],
  properties: { ...looseTenant, userId: p.text().primary(), agentId: p.text().primary(), ...firstAndLast },
});
/** Users of a day, week or month: those of one agent, and as agent '' those of any. */
const UsageUniqueUsersEntity = defineEntity({
  name: 'UsageUniqueUsers',
  tableName: 'usage_unique_users',
  checks: [{ name: 'usage_unique_users_users_check', property: 'users', expression: 'users > 0' }],
  properties: {
    ...looseTenant,
    agentId: p.text().primary(),
    grain: p.enum(['day', 'week', 'month'] as const).primary(),
    period: p.date().primary(),
    users: bigint(),
  },
});

/**
 * Every table of the schema but those that packages/store creates in each service. The service itself reads and writes with prepared
 * statements; test/schema.test.ts compares the entities with the migrations.
 */
export const entities = [
  HoldEntity,
  LedgerEntity,
  OperationEntity,
  ProvenMonthEntity,
  TransferEntity,
  UsageAgentEntity,
  UsageByAgentEntity,
  UsageByTierEntity,
  UsageByUserAgentEntity,
  UsageByUserEntity,
  UsageRecordEntity,
  UsageUniqueUsersEntity,
  UsageUserAgentEntity,
  UsageUserDayEntity,
  UsageUserEntity,
  UserAccountEntity,
];
