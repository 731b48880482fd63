import { migration } from '@agent-service/store';

export const revokedSigningKeys = migration('0003-revoked-signing-keys', 'alter table signing_keys add column revoked_at timestamptz(3);');
