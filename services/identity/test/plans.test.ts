import { migrate, sweepIdempotency } from '@agent-service/store';
import { type RecordingStore, recordingStore, recordSteps, type StatementRun, testDatabase } from '@agent-service/testkit';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { MikroORM } from '@mikro-orm/postgresql';
import { listInvitationsOf, removeResets } from '../src/portal/store/invitations.ts';
import { findProviderUsers, findUsersByEmail } from '../src/portal/store/passwords.ts';
import { removeEnded } from '../src/portal/store/sessions.ts';
import { countAudit, listAudit } from '../src/store/audit-list.ts';
import { nextOrganization } from '../src/store/audit-verify.ts';
import { countCredentials, findCredential, listCredentials } from '../src/store/credential-lists.ts';
import { createCredentialUses } from '../src/store/credential-uses.ts';
import { applicationById, credentialsById, keysByHash, revokeCredential, revokeCredentialsOf } from '../src/store/credentials.ts';
import { entities } from '../src/store/entities.ts';
import { createFormerHashes } from '../src/store/former-hashes.ts';
import { migrations } from '../src/store/migrations/index.ts';
import { countUsers, findSelf, findUsers, lockOtherAdmins, selectAdministrators, selectUsers } from '../src/store/users.ts';

const rows = 50_000;
const schema = 'identity';
const organizationId = 'org_a';
const tenant = { organizationId, environment: 'live' } as const;
const unfiltered = { actor: '', action: '', target: '', dateFrom: '', dateTo: '' };

let database: Awaited<ReturnType<typeof testDatabase>>;
let store: RecordingStore;
let orm: MikroORM;
let runs = new Map<string, StatementRun[]>();

/** An entity manager whose statements are recorded like the others. */
function recordingEntities() {
  const em = orm.em.fork();
  const executeQuery = async ({ sql, parameters }: { sql: string; parameters: readonly unknown[] }) => ({
    rows: await store.sql(sql, parameters),
  });
  em.setTransactionContext({ executeQuery } as never);
  return em;
}

const ids = (prefix: string, count = 200) => Array.from({ length: count }, (_, n) => `${prefix}${n + 1}`);

/** Every statement that a caller or the gateway causes, of an organization with 50,000 of everything. */
const steps: Record<string, () => Promise<unknown>> = {
  keysByHash: () => keysByHash(store.sql, ids('hash_')),
  credentialsById: () => credentialsById(store.sql, ids('key_')),
  applicationById: () => applicationById(store.sql, 'app_1'),
  findUsers: () =>
    findUsers(
      store.sql,
      ids('usr_').map((userId) => ({ organizationId, userId })),
    ),
  selectUsers: () => selectUsers(recordingEntities(), organizationId, { role: '', status: '' }, undefined, 100),
  'selectUsers of one role and status': () =>
    selectUsers(recordingEntities(), organizationId, { role: 'member', status: 'deactivated' }, undefined, 100),
  'selectUsers of a later page': () =>
    selectUsers(recordingEntities(), organizationId, { role: 'admin', status: 'active' }, ['2026-01-01T00:00:00.000Z', 'usr_5'], 100),
  countUsers: () => countUsers(store.sql, organizationId, { role: 'member', status: '' }),
  selectAdministrators: () => selectAdministrators(recordingEntities(), organizationId),
  lockOtherAdmins: () => store.transaction(({ sql }) => lockOtherAdmins(sql, organizationId, 'usr_1')),
  revokeCredential: () => revokeCredential(store.sql, 'api_keys', 'key_1', { organizationId, environment: 'live' }),
  revokeCredentialsOf: () => revokeCredentialsOf(store.sql, organizationId, 'usr_7'),
  findSelf: () => findSelf(store.sql, { organizationId, userId: 'usr_1', credentialId: 'key_1' }),
  findCredential: () => findCredential(store.sql, 'api_key', tenant, 'key_7'),
  'findCredential of an application': () => findCredential(store.sql, 'oauth_application', tenant, 'app_7'),
  ...Object.fromEntries(
    (['api_key', 'oauth_application'] as const).flatMap((kind) =>
      (['', 'active', 'ended'] as const).flatMap((status) =>
        (kind === 'api_key' ? ['', 'usr_7'] : ['']).map((userId) => [
          `listCredentials ${kind} ${status} ${userId}`,
          () => listCredentials(store.sql, kind, tenant, { userId, status }, [new Date().toISOString(), 'z'], 100),
        ]),
      ),
    ),
  ),
  countCredentials: () => countCredentials(store.sql, 'api_key', tenant, { userId: '', status: '' }),
  recordUses: async () => {
    const uses = createCredentialUses(store as never);
    for (const id of ids('key_')) uses.record({ credentialId: id, organizationId });
    return uses.flush();
  },
  replaceHashes: async () => {
    const hashes = createFormerHashes({ logger: { info: () => undefined } } as never, store as never);
    for (const id of ids('app_')) hashes.record({ credentialId: id, former: `former_${id}`, present: `present_${id}` });
    return hashes.flush();
  },
  listAudit: () => listAudit(store.sql, organizationId, 'live', unfiltered, undefined, 100),
  'listAudit of one target': () => listAudit(store.sql, organizationId, 'live', { ...unfiltered, target: 'agt_7' }, undefined, 100),
  countAudit: () => countAudit(store.sql, organizationId, 'live', unfiltered),
  nextOrganization: () => nextOrganization(store.sql, organizationId),
  sweepIdempotency: () => sweepIdempotency(store.sql),
  findUsersByEmail: () => findUsersByEmail(store.sql, 'u7@acme.example'),
  'findProviderUsers of a linked account': () => findProviderUsers(store.sql, { issuer: 'i', subject: 's7', email: 'u7@acme.example' }),
  'findProviderUsers of a new account': () => findProviderUsers(store.sql, { issuer: 'i', subject: 'new', email: 'u1000@acme.example' }),
  listInvitations: () => listInvitationsOf(store.sql, organizationId, 200),
  'removeResets of one user': () => removeResets(store.sql, organizationId, 'usr_7'),
  removeEnded: () => removeEnded(store.sql),
};

/** Rows of the portal, of which one half has ended. */
const portalEnd = `now() + case when n % 2 = 0 then interval '-1 second' else interval '1 hour' end`;
const growPortal = [
  `insert into passwords select 'org_a', 'usr_' || n, '', now() from generate_series(1, ${rows}) n`,
  // The administrators have no account of the provider yet.
  `insert into provider_accounts select 'org_a', 'usr_' || n, 'i', 's' || n, now() from generate_series(1, ${rows}) n where n % 1000 <> 0`,
  `insert into portal_sessions select 'org_a', 'ses_' || n, 'usr_' || n, 's' || n, 'password', '', '', now(), now(), ${portalEnd}, now() + interval '1 hour'
   from generate_series(1, ${rows}) n`,
  `insert into invitations select 'org_a', 'of_a_' || n, 'i' || n, '', 'member', 'of_a_' || n, 'usr_1000', now(), now() + interval '1 hour'
   from generate_series(1, 200) n`,
  `insert into invitations select 'org_' || n, 'inv_' || n, '', '', 'member', 'i' || n, '', now(), ${portalEnd} from generate_series(1, ${rows}) n`,
  `insert into password_resets select 'org_a', 'usr_' || n, 'r' || n, now(), ${portalEnd} from generate_series(1, ${rows}) n`,
  `insert into organization_choices select 'c' || n, 'i', 's', '', ${portalEnd} from generate_series(1, ${rows}) n`,
  `insert into sign_in_limits select 'l' || n, 1, now(), ${portalEnd} from generate_series(1, ${rows}) n`,
];

const grow = [
  // Without triggers and checks of references: one of the triggers would write the same row 50,000 times.
  'set session_replication_role = replica',
  `insert into organizations select 'org_' || n, '', now() from generate_series(1, ${rows}) n`,
  `insert into organizations values ('org_a', '', now())`,
  // One in a thousand is an administrator, and one in a thousand of the members is deactivated.
  `insert into users select 'org_a', 'usr_' || n, 'person', '', 'u' || n || '@acme.example', case when n % 1000 = 0 then 'admin' else 'member' end,
     case when n % 1000 = 1 then 'deactivated' else 'active' end, now() - n * interval '1 second', now() from generate_series(1, ${rows}) n`,
  `insert into api_keys (organization_id, id, environment, user_id, hash, hint, scopes, admin, created_at)
   select 'org_a', 'key_' || n, 'live', 'usr_' || 1 + n % 100, 'hash_' || n, '', '{}', false, now() from generate_series(1, ${rows}) n`,
  `insert into oauth_clients (organization_id, id, environment, user_id, secret_hash, scopes, created_at)
   select 'org_a', 'app_' || n, 'live', 'usr_' || n, '', '{}', now() from generate_series(1, ${rows}) n`,
  // A tenth has ended.
  `update api_keys set revoked_at = now() where right(id, 1) = '3'`,
  `update oauth_clients set revoked_at = now() where right(id, 1) = '3'`,
  `insert into credential_uses select 'key_' || n, 'org_a', now() from generate_series(1, ${rows}) n on conflict do nothing`,
  `insert into audit_chains (organization_id, length, head) select 'org_' || n, 1, '' from generate_series(1, ${rows}) n`,
  `insert into audit_entries (organization_id, sequence, id, environment, created_at, actor_type, actor_id, actor_key_id, action, target_type,
     target_id, outcome, request_id, changes_json, hash, key_version)
   select 'org_a', n, 'e' || n, 'live', now() - n * interval '1 second', 'user', 'usr_1', '', 'agent.created', 'agent', 'agt_' || n % 1000, '', '', '', '', 1
   from generate_series(1, ${rows}) n`,
  `insert into idempotency_records (scope, fingerprint, response, created_at) select 's' || n, '', '{}', to_timestamp(0) from generate_series(1, ${rows}) n`,
  ...growPortal,
  'set session_replication_role = origin',
];

beforeAll(async () => {
  database = await testDatabase();
  await migrate({ url: database.url, schema, migrations });
  store = await recordingStore(database.url, schema);
  orm = await MikroORM.init({ clientUrl: database.url, schema, entities });
  runs = await recordSteps(store, schema, { steps, grow });
}, 240_000);
afterAll(async () => {
  await orm?.close(true);
  await store?.end();
  await database?.drop();
});

test.each(Object.keys(steps))(
  '%s reads a bounded number of 50,000 rows, planned while the tables were empty or with statistics',
  (name) => {
    // Twice the 1,000 credentials of one user.
    const bound = 5_000;
    for (const { statement, rowsRead, plan } of runs.get(name) ?? [])
      if (rowsRead > bound) throw new Error(`${rowsRead} rows\n${statement}\n${plan}`);
    expect(runs.get(name)?.length).toBeGreaterThan(0);
  },
);
