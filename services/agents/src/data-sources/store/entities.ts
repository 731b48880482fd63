import { defineEntity, environment, migratedIndex, p, timestamp } from '@agent-service/store/entities';

/** A tenant's connected database with its sealed URL. A removed one keeps its row without a URL, so that versions only go up. */
export const DataSourceEntity = defineEntity({
  name: 'DataSource',
  tableName: 'data_sources',
  indexes: [migratedIndex('data_sources_url_sealed_key_version_index')],
  checks: [{ name: 'data_sources_version_check', property: 'version', expression: 'version > 0' }],
  properties: {
    organizationId: p.text().primary(),
    environment: environment().primary(),
    urlSealed: p.text().nullable(),
    version: p.integer(),
    createdAt: timestamp(),
    updatedAt: timestamp(),
  },
});

/** A change of business data that an attempt has claimed. */
export const AnswerStepEntity = defineEntity({
  name: 'AnswerStep',
  tableName: 'answer_steps',
  indexes: [{ name: 'answer_steps_claimed_at_index', properties: ['claimedAt'] }, migratedIndex('answer_steps_untold_index')],
  properties: {
    organizationId: p.text().primary(),
    environment: environment().primary(),
    answerId: p.text().primary(),
    step: p.integer().primary(),
    attempt: p.integer().primary(),
    description: p.text(),
    claimedAt: timestamp(),
    finishedAt: timestamp().nullable(),
    rows: p.integer().nullable(),
    undone: p.boolean().default(false),
    userId: p.text().default(''),
    agentId: p.text().default(''),
    conversationId: p.text().default(''),
    requestId: p.text().default(''),
    tableName: p.text().default(''),
    operation: p.text().default(''),
    askedRows: p.integer().default(0),
    keysJson: p.text().default(''),
    lostAt: timestamp().nullable(),
  },
});
