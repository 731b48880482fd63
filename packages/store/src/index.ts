export { LockMode } from '@mikro-orm/postgresql';
export { type Cipher, createCipher, encryptionSettings, versionedKeys } from './cipher/cipher.ts';
export { openCipher } from './cipher/cipher-rotation.ts';
export { keyVersionIndex, type SealedField, sealedColumn } from './cipher/sealed-fields.ts';
export {
  arrayRows,
  assign,
  columnTypes,
  columnValues,
  insertInto,
  jsonRows,
  type RowColumns,
  toArrays,
  toJson,
  toValues,
} from './columns.ts';
export { type Cursors, createCursors, cursorSettings, lastOf, limitOf, type Page } from './cursors.ts';
export { idempotencyTable, once, runChange, sweepIdempotency } from './idempotency.ts';
export { grantRuntimeRole, migrate, migration, type NamedMigration } from './migrations.ts';
export { createMonthPartitions, monthOf, type Partitions, startOfMonth } from './month-partitions.ts';
export { type AuditPayload, auditMessage, relayAudit, writeAudit } from './outbox/audit.ts';
export { boundChangesJson } from './outbox/audit-bounds.ts';
export { eventTopic, openEventRelay, writeEvents } from './outbox/events.ts';
export { deadLettersTable, type OutboxMessage, outboxMethods, outboxTable, writeOutbox } from './outbox/outbox.ts';
export { type Relay, type RelayOptions, startRelay } from './outbox/relay.ts';
export { databaseUrl } from './servers/database-url.ts';
export { waitForDatabase } from './servers/primary.ts';
export { classifyDatabaseFailure, isoTime, isStatementTimeout, isViolation, type Parameters, parameters, type Sql } from './sql.ts';
export type { Transaction } from './store.ts';
export { databaseSettings, openStore, type Store } from './store.ts';
export { startSweep } from './sweep.ts';
