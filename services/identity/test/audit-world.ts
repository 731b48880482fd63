import { type Client, createClient } from '@agent-service/contracts';
import { Client as Database } from 'pg';
import { chainStart, entryHash } from '../src/domain/audit-chain.ts';
import { type BootedService, boot } from './boot.ts';

/** An identity service with direct access to the database, as its administrator has it, who does not have the key. */
export interface AuditWorld {
  readonly identity: BootedService;
  readonly agents: Client<'identity'>;
  readonly database: Database;
  /** Appends entries as the relay of agents does. */
  append(organizationId: string, count: number, from?: number): Promise<unknown>;
  /** The faults that verification reports, as `sequence: reason`. */
  faultsOf(organizationId: string): Promise<string[]>;
  /** Runs statements with the triggers of the log disabled. */
  tamper(...statements: string[]): Promise<void>;
  /** Replaces all hashes by those that can be computed without a key. */
  recomputeUnkeyed(organizationId: string): Promise<void>;
  stop(): Promise<void>;
}

export async function startAuditWorld(): Promise<AuditWorld> {
  const identity = await boot();
  const agents = createClient('identity', { address: identity.address, as: 'agents', config: identity.config });
  const database = await connectToIdentity(identity.url);

  async function tamper(...statements: string[]): Promise<void> {
    const all = ['alter table audit_entries disable trigger all', ...statements, 'alter table audit_entries enable trigger all'];
    for (const statement of all) await database.query(statement);
  }

  return {
    identity,
    agents,
    database,
    tamper,
    append: (organizationId, count, from = 0) => agents.appendAuditEntries({ entries: entriesOf(organizationId, count, from) }),
    async faultsOf(organizationId) {
      const { faults } = await identity.operator.verifyAuditChain({ organizationId });
      return faults.map(({ sequence, reason }) => `${sequence}: ${reason}`);
    },
    recomputeUnkeyed: async (organizationId) => tamper(...(await unkeyedChain(database, organizationId)), headUpdate(organizationId)),
    async stop() {
      agents.close();
      await database.end();
      await identity.stop();
    },
  };
}

export async function connectToIdentity(url: string): Promise<Database> {
  const database = new Database({ connectionString: url });
  await database.connect();
  await database.query('set search_path = identity');
  return database;
}

const entriesOf = (organizationId: string, count: number, from: number) =>
  Array.from({ length: count }, (_, index) => ({
    id: `e${String(from + index).padStart(5, '0')}`,
    organizationId,
    environment: 'live',
    createdAt: '2026-03-01T10:00:00.000Z',
    actor: { type: 'user', id: 'usr_a', keyId: 'key_a' },
    action: 'agent.created',
    target: { type: 'agent', id: `agt_${from + index}` },
    outcome: 'success',
    requestId: 'r',
    changesJson: '{"name":"x"}',
  }));

/** The statement that makes the newest entry the end of the chain, as an attacker who cuts the chain must. */
export const headUpdate = (organizationId: string) => `
  update audit_chains set length = newest.sequence, head = newest.hash from (
    select sequence, hash from audit_entries where organization_id = '${organizationId}' order by sequence desc limit 1) as newest
  where organization_id = '${organizationId}'`;

interface Row {
  sequence: string;
  [name: string]: unknown;
}

/** Statements that give every entry another actor and the hash of version 0. */
async function unkeyedChain(database: Database, organizationId: string): Promise<string[]> {
  const { rows } = await database.query<Row>('select * from audit_entries where organization_id = $1 order by sequence', [organizationId]);
  let previous = chainStart;
  const statements: string[] = [];
  for (const row of rows) {
    const text = (name: string) => String(row[name]);
    const facts = {
      id: text('id'),
      createdAt: (row['created_at'] as Date).toISOString(),
      environment: text('environment'),
      actorType: text('actor_type'),
      actorId: 'usr_forged',
      actorKeyId: text('actor_key_id'),
      action: text('action'),
      targetType: text('target_type'),
      targetId: text('target_id'),
      outcome: text('outcome'),
      requestId: text('request_id'),
      changesJson: text('changes_json'),
    };
    previous = entryHash(new Map(), 0, previous, { organizationId, sequence: Number(row.sequence) }, facts) ?? '';
    statements.push(
      `update audit_entries set actor_id = 'usr_forged', key_version = 0, hash = '${previous}' where organization_id = '${organizationId}' and sequence = ${row.sequence}`,
    );
  }
  return statements;
}
