import { defineEntity, type InferEntity, p } from '@mikro-orm/postgresql';

const timestamp = () => p.datetime(3);

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
  properties: {
    organizationId: p.text().primary(),
    id: p.text().primary(),
    kind: p.enum(['person', 'service'] as const),
    name: p.text(),
    email: p.text(),
    role: p.enum(['admin', 'member'] as const),
    status: p.enum(['active', 'deactivated'] as const),
    createdAt: timestamp(),
    updatedAt: timestamp(),
  },
});

export type UserRow = Pick<InferEntity<typeof User>, 'id' | 'name' | 'email' | 'role' | 'status' | 'createdAt'>;

export const ApiKey = defineEntity({
  name: 'ApiKey',
  tableName: 'api_keys',
  properties: {
    organizationId: p.text().primary(),
    id: p.text().primary(),
    environment: p.enum(['live', 'test'] as const),
    userId: p.text(),
    hash: p.text(),
    hint: p.text(),
    scopes: p.array<string>(),
    admin: p.boolean(),
    tokenTtlSeconds: p.integer().nullable(),
    createdAt: timestamp(),
    revokedAt: timestamp().nullable(),
  },
});

export const OauthClient = defineEntity({
  name: 'OauthClient',
  tableName: 'oauth_clients',
  properties: {
    organizationId: p.text().primary(),
    id: p.text().primary(),
    environment: p.enum(['live', 'test'] as const),
    userId: p.text(),
    secretHash: p.text(),
    scopes: p.array<string>(),
    createdAt: timestamp(),
    revokedAt: timestamp().nullable(),
  },
});

export const entities = [Organization, User, ApiKey, OauthClient];
