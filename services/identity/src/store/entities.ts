import { defineEntity, environment, type InferEntity, migratedIndex, p, texts, timestamp } from '@agent-service/store/entities';

const count = () => p.bigint('number');

export const Organization = defineEntity({
  name: 'Organization',
  tableName: 'organizations',
  properties: {
    id: p.text().primary(),
    name: p.text(),
    createdAt: timestamp(),
  },
});

export const User = defineEntity({
  name: 'User',
  tableName: 'users',
  indexes: [
    migratedIndex('users_email_unique'),
    migratedIndex('users_created_at_index'),
    migratedIndex('users_role_index'),
    migratedIndex('users_status_index'),
    migratedIndex('users_role_status_index'),
    migratedIndex('users_sign_in_index'),
  ],
  triggers: [{ name: 'users_counted', timing: 'after', events: ['insert', 'update', 'delete'], expression: 'see the migrations' }],
  properties: {
    organizationId: p.text().primary(),
    id: p.text().primary().unique('users_id_key'),
    kind: p.enum(['person', 'service'] as const),
    name: p.text(),
    email: p.text(),
    role: p.enum(['admin', 'member'] as const),
    status: p.enum(['active', 'deactivated'] as const),
    createdAt: timestamp(),
    updatedAt: timestamp(),
  },
});

export type UserRow = Pick<InferEntity<typeof User>, 'id' | 'name' | 'email' | 'role' | 'status' | 'createdAt' | 'kind'>;

/** The number of users by role and status, kept by a trigger of `users`. */
const UserCount = defineEntity({
  name: 'UserCount',
  tableName: 'user_counts',
  checks: [{ name: 'user_counts_users_check', property: 'users', expression: 'users >= 0' }],
  properties: {
    organizationId: p.text().primary(),
    role: p.text().primary(),
    status: p.text().primary(),
    users: count(),
  },
});

export const ApiKey = defineEntity({
  name: 'ApiKey',
  tableName: 'api_keys',
  indexes: [
    { name: 'api_keys_user_id_index', properties: ['organizationId', 'userId'] },
    migratedIndex('api_keys_created_at_index'),
    migratedIndex('api_keys_active_index'),
    migratedIndex('api_keys_user_created_at_index'),
    migratedIndex('api_keys_user_active_index'),
  ],
  triggers: [
    { name: 'api_keys_added', timing: 'after', events: ['insert'], expression: 'see the migrations' },
    { name: 'api_keys_changed', timing: 'after', events: ['update'], expression: 'see the migrations' },
  ],
  checks: [
    {
      name: 'api_keys_token_ttl_seconds_check',
      property: 'tokenTtlSeconds',
      expression: 'token_ttl_seconds >= 300 and token_ttl_seconds <= 86400',
    },
  ],
  properties: {
    organizationId: p.text().primary(),
    id: p.text().primary().unique('api_keys_id_key'),
    environment: environment(),
    userId: p.text(),
    name: p.text().default(''),
    hash: p.text().unique('api_keys_hash_key'),
    hint: p.text(),
    scopes: texts(),
    admin: p.boolean(),
    tokenTtlSeconds: p.integer().nullable(),
    createdAt: timestamp(),
    revokedAt: timestamp().nullable(),
    replacedBy: p.text().nullable(),
    /** Replaced by a rotation, and valid until `revokedAt`. */
    endsLater: p.boolean().default(false),
  },
});

export const OauthClient = defineEntity({
  name: 'OauthClient',
  tableName: 'oauth_clients',
  indexes: [
    { name: 'oauth_clients_user_id_index', properties: ['organizationId', 'userId'] },
    migratedIndex('oauth_clients_created_at_index'),
    migratedIndex('oauth_clients_active_index'),
  ],
  triggers: [
    { name: 'oauth_clients_added', timing: 'after', events: ['insert'], expression: 'see the migrations' },
    { name: 'oauth_clients_changed', timing: 'after', events: ['update'], expression: 'see the migrations' },
  ],
  properties: {
    organizationId: p.text().primary(),
    id: p.text().primary().unique('oauth_clients_id_key'),
    environment: environment(),
    userId: p.text(),
    name: p.text().default(''),
    secretHash: p.text(),
    previousSecretHash: p.text().nullable(),
    previousSecretUntil: timestamp().nullable(),
    /** Tokens issued before are refused. */
    tokensSince: timestamp().nullable(),
    scopes: texts(),
    createdAt: timestamp(),
    revokedAt: timestamp().nullable(),
  },
});

/** The number of credentials by user and activity, kept by triggers; the row without a user counts all of the tenant. */
const CredentialCount = defineEntity({
  name: 'CredentialCount',
  tableName: 'credential_counts',
  properties: {
    organizationId: p.text().primary(),
    environment: p.text().primary(),
    kind: p.text().primary(),
    userId: p.text().primary(),
    isActive: p.boolean().primary(),
    credentials: count(),
  },
});

/** When a credential was last used, to the minute. */
const CredentialUse = defineEntity({
  name: 'CredentialUse',
  tableName: 'credential_uses',
  properties: {
    credentialId: p.text().primary(),
    organizationId: p.text(),
    lastUsedAt: timestamp(),
  },
});

const SigningKey = defineEntity({
  name: 'SigningKey',
  tableName: 'signing_keys',
  indexes: [{ name: 'signing_keys_activates_at_index', properties: ['activatesAt'] }],
  properties: {
    kid: p.text().primary(),
    modulus: p.text(),
    exponent: p.text(),
    privateKey: p.text(),
    createdAt: timestamp().defaultRaw('now()'),
    activatesAt: timestamp(),
    revokedAt: timestamp().nullable(),
  },
});

/** The end of an organization's chain of audit entries, with its signature. */
const AuditChain = defineEntity({
  name: 'AuditChain',
  tableName: 'audit_chains',
  properties: {
    organizationId: p.text().primary(),
    length: count().defaultRaw('0'),
    head: p.text(),
    counts: p.json<Record<string, number>>().defaultRaw("'{}'"),
    keyVersion: p.integer().nullable(),
    mac: p.text().nullable(),
    brokenFrom: count().nullable(),
  },
});

const AuditEntry = defineEntity({
  name: 'AuditEntry',
  tableName: 'audit_entries',
  uniques: [{ name: 'audit_entries_id_unique', properties: ['organizationId', 'id'] }],
  indexes: [
    migratedIndex('audit_entries_created_at_index'),
    migratedIndex('audit_entries_actor_index'),
    migratedIndex('audit_entries_action_index'),
    migratedIndex('audit_entries_target_index'),
  ],
  triggers: [
    { name: 'audit_entries_append_only', timing: 'before', events: ['update', 'delete', 'truncate'], expression: 'see the migrations' },
  ],
  properties: {
    organizationId: p.text().primary(),
    sequence: count().primary(),
    id: p.text(),
    environment: p.text(),
    createdAt: timestamp(),
    actorType: p.text(),
    actorId: p.text(),
    actorKeyId: p.text(),
    action: p.text(),
    targetType: p.text(),
    targetId: p.text(),
    outcome: p.text(),
    requestId: p.text(),
    changesJson: p.text(),
    hash: p.text(),
    keyVersion: p.integer(),
  },
});

/** Organizations whose chain was written before entries were signed, and is signed at the next start. */
const AuditUnsignedChain = defineEntity({
  name: 'AuditUnsignedChain',
  tableName: 'audit_unsigned_chains',
  properties: { organizationId: p.text().primary() },
});

/** One row once keys are in use: from then on an unsigned chain is a fault. */
const AuditKeyStart = defineEntity({
  name: 'AuditKeyStart',
  tableName: 'audit_key_start',
  checks: [{ name: 'audit_key_start_is_started_check', property: 'isStarted', expression: 'is_started' }],
  properties: {
    isStarted: p.boolean().primary().default(true),
    startedAt: timestamp().defaultRaw('now()'),
  },
});

/** Every table of the schema but those that packages/store creates in each service; test/schema.test.ts compares them with the migrations. */
export const entities = [
  ApiKey,
  AuditChain,
  AuditEntry,
  AuditKeyStart,
  AuditUnsignedChain,
  CredentialCount,
  CredentialUse,
  OauthClient,
  Organization,
  SigningKey,
  User,
  UserCount,
];
