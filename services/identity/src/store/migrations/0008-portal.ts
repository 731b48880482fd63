import { keyVersionIndex, migration, type NamedMigration } from '@agent-service/store';
import { sealedTwoFactorSecrets } from '../../portal/store/two-factors.ts';

const ofUser = 'foreign key (organization_id, user_id) references users (organization_id, id)';

// One row for each user who may sign in with a password. Finding users by e-mail crosses organizations: only sign-in does that.
const passwords = `
  create table passwords (
    organization_id text not null,
    user_id text not null,
    hash text not null,
    changed_at timestamptz(3) not null,
    primary key (organization_id, user_id),
    ${ofUser}
  );
`;

// ends_at moves with each use, and never past expires_at. A session that ended has no row.
const sessions = `
  create table portal_sessions (
    organization_id text not null,
    id text not null unique,
    user_id text not null,
    token_hash text not null unique,
    method text not null check (method in ('password', 'invitation', 'openid_connect')),
    address text not null,
    user_agent text not null,
    created_at timestamptz(3) not null,
    last_used_at timestamptz(3) not null,
    ends_at timestamptz(3) not null,
    expires_at timestamptz(3) not null,
    primary key (organization_id, id),
    ${ofUser}
  );
  create index portal_sessions_user_id_index on portal_sessions (organization_id, user_id, last_used_at desc);
  create index portal_sessions_ends_at_index on portal_sessions (ends_at);
`;

const limits = `
  create table sign_in_limits (
    key text primary key,
    attempts integer not null,
    blocked_until timestamptz(3) not null,
    ends_at timestamptz(3) not null
  );
  create index sign_in_limits_ends_at_index on sign_in_limits (ends_at);
`;

const invitations = `
  create table invitations (
    organization_id text not null references organizations (id),
    id text not null unique,
    email text not null,
    name text not null,
    role text not null check (role in ('admin', 'member')),
    token_hash text not null unique,
    created_by text not null,
    created_at timestamptz(3) not null,
    expires_at timestamptz(3) not null,
    primary key (organization_id, id)
  );
  create unique index invitations_email_unique on invitations (organization_id, lower(email));
  create index invitations_created_at_index on invitations (organization_id, created_at desc, id desc);
  create index invitations_expires_at_index on invitations (expires_at);

  create table password_resets (
    organization_id text not null,
    user_id text not null,
    token_hash text not null unique,
    created_at timestamptz(3) not null,
    expires_at timestamptz(3) not null,
    primary key (organization_id, user_id),
    ${ofUser}
  );
  create index password_resets_expires_at_index on password_resets (expires_at);
`;

// last_step is the time step of the last accepted code, so that no code is accepted twice.
const twoFactors = `
  create table two_factors (
    organization_id text not null,
    user_id text not null,
    secret text not null,
    confirmed_at timestamptz(3),
    last_step bigint not null default 0,
    recovery_hashes text[] not null default '{}',
    primary key (organization_id, user_id),
    ${ofUser}
  );
`;

// The account of a user at an OpenID Connect provider.
const providerAccounts = `
  create table provider_accounts (
    organization_id text not null,
    user_id text not null,
    issuer text not null,
    subject text not null,
    created_at timestamptz(3) not null,
    primary key (organization_id, user_id, issuer),
    ${ofUser}
  );
  create unique index provider_accounts_subject_unique on provider_accounts (issuer, subject, organization_id);
`;

export const portal: NamedMigration = {
  ...migration(
    '0008-portal',
    passwords,
    sessions,
    limits,
    invitations,
    twoFactors,
    keyVersionIndex(sealedTwoFactorSecrets),
    providerAccounts,
  ),
  // An interrupted build leaves an invalid index.
  preparation: [
    'drop index concurrently if exists users_sign_in_index',
    "create index concurrently users_sign_in_index on users (lower(email)) where email <> '' and kind = 'person'",
  ],
};
