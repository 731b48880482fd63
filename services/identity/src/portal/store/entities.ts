import { defineEntity, migratedIndex, p, texts, timestamp } from '@agent-service/store/entities';

const role = () => p.enum(['admin', 'member'] as const);

const Password = defineEntity({
  name: 'Password',
  tableName: 'passwords',
  properties: {
    organizationId: p.text().primary(),
    userId: p.text().primary(),
    hash: p.text(),
    changedAt: timestamp(),
  },
});

/** A session of the portal. `endsAt` moves with each use, and never past `expiresAt`; an ended session has no row. */
const PortalSession = defineEntity({
  name: 'PortalSession',
  tableName: 'portal_sessions',
  indexes: [migratedIndex('portal_sessions_user_id_index'), { name: 'portal_sessions_ends_at_index', properties: ['endsAt'] }],
  properties: {
    organizationId: p.text().primary(),
    id: p.text().primary().unique('portal_sessions_id_key'),
    userId: p.text(),
    tokenHash: p.text().unique('portal_sessions_token_hash_key'),
    method: p.enum(['password', 'invitation', 'openid_connect'] as const),
    address: p.text(),
    userAgent: p.text(),
    createdAt: timestamp(),
    lastUsedAt: timestamp(),
    endsAt: timestamp(),
    expiresAt: timestamp(),
  },
});

/** Attempts to sign in, counted by the keyed hash of an address or of an address and an e-mail. */
const SignInLimit = defineEntity({
  name: 'SignInLimit',
  tableName: 'sign_in_limits',
  indexes: [{ name: 'sign_in_limits_ends_at_index', properties: ['endsAt'] }],
  properties: {
    key: p.text().primary(),
    attempts: p.integer(),
    blockedUntil: timestamp(),
    endsAt: timestamp(),
  },
});

const Invitation = defineEntity({
  name: 'Invitation',
  tableName: 'invitations',
  indexes: [
    migratedIndex('invitations_email_unique'),
    migratedIndex('invitations_created_at_index'),
    { name: 'invitations_expires_at_index', properties: ['expiresAt'] },
  ],
  properties: {
    organizationId: p.text().primary(),
    id: p.text().primary().unique('invitations_id_key'),
    email: p.text(),
    name: p.text(),
    role: role(),
    tokenHash: p.text().unique('invitations_token_hash_key'),
    createdBy: p.text(),
    createdAt: timestamp(),
    expiresAt: timestamp(),
  },
});

const PasswordReset = defineEntity({
  name: 'PasswordReset',
  tableName: 'password_resets',
  indexes: [{ name: 'password_resets_expires_at_index', properties: ['expiresAt'] }],
  properties: {
    organizationId: p.text().primary(),
    userId: p.text().primary(),
    tokenHash: p.text().unique('password_resets_token_hash_key'),
    createdAt: timestamp(),
    expiresAt: timestamp(),
  },
});

/** The sealed secret of an authenticator app. It is in use once a code has confirmed it. */
const TwoFactor = defineEntity({
  name: 'TwoFactor',
  tableName: 'two_factors',
  indexes: [migratedIndex('two_factors_secret_key_version_index')],
  properties: {
    organizationId: p.text().primary(),
    userId: p.text().primary(),
    secret: p.text(),
    confirmedAt: timestamp().nullable(),
    lastStep: p.bigint('number').defaultRaw('0'),
    recoveryHashes: texts().defaultRaw("'{}'"),
  },
});

/** The account of a user at an OpenID Connect provider. */
const ProviderAccount = defineEntity({
  name: 'ProviderAccount',
  tableName: 'provider_accounts',
  uniques: [{ name: 'provider_accounts_subject_unique', properties: ['issuer', 'subject', 'organizationId'] }],
  properties: {
    organizationId: p.text().primary(),
    userId: p.text().primary(),
    issuer: p.text().primary(),
    subject: p.text(),
    createdAt: timestamp(),
  },
});

/** A sign-in with a provider whose person has not chosen between organizations yet. */
const OrganizationChoice = defineEntity({
  name: 'OrganizationChoice',
  tableName: 'organization_choices',
  indexes: [{ name: 'organization_choices_expires_at_index', properties: ['expiresAt'] }],
  properties: {
    tokenHash: p.text().primary(),
    issuer: p.text(),
    subject: p.text(),
    email: p.text(),
    expiresAt: timestamp(),
  },
});

export const portalEntities = [
  Invitation,
  OrganizationChoice,
  Password,
  PasswordReset,
  PortalSession,
  ProviderAccount,
  SignInLimit,
  TwoFactor,
];
