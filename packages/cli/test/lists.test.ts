// The operator's command line against a running system: what a list shows can be named in the next command.
import { join } from 'node:path';
import { ServiceError } from '@agent-service/contracts';
import { sharedSystem, testFolder, until } from '@agent-service/testkit';
import { afterAll, afterEach, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { printableFailure } from '../src/commands.ts';
import { connect } from '../src/connection.ts';
import { buildProgram } from '../src/program.ts';

let system: Awaited<ReturnType<typeof sharedSystem>>;
let ours: { organization_id: string; user_id: string; api_keys: { live: string } };
let theirs: typeof ours;

beforeAll(async () => {
  system = await sharedSystem();
  ours = await read('organization', 'create', '--name', 'Ours', '--email', 'root@ours.example');
  theirs = await read('organization', 'create', '--name', 'Theirs', '--email', 'root@theirs.example');
}, 120_000);
afterAll(() => system?.leave());
afterEach(() => {
  process.exitCode = undefined;
  jest.restoreAllMocks();
});

/** The command's output. */
async function admin(...words: readonly string[]): Promise<string> {
  const written: string[] = [];
  jest.spyOn(process.stdout, 'write').mockImplementation((text) => written.push(String(text)) > 0);
  jest.spyOn(process.stderr, 'write').mockReturnValue(true);
  const env = { DATA_DIR: system.dataDir };
  await buildProgram(env, () => connect(env)).parseAsync(words, { from: 'user' });
  return written.join('');
}

const read = async <T>(...words: readonly string[]): Promise<T> => JSON.parse(await admin(...words, '--json')) as T;
const failureOf = (...words: readonly string[]): Promise<string> =>
  admin(...words).then((output) => `no failure: ${output}`, printableFailure);

type Rows<Name extends string> = Record<Name, Record<string, unknown>[]> & { next?: string; total?: number };

describe('lists', () => {
  test('show organizations page by page, newest first', async () => {
    const first = await read<Rows<'organizations'>>('organization', 'list', '--limit', '1');
    expect([first.organizations.length, typeof first.next]).toEqual([1, 'string']);
    const rest = await read<Rows<'organizations'>>('organization', 'list', '--after', first.next ?? '');
    const ids = [...first.organizations, ...rest.organizations].map(({ id }) => id);
    expect(ids.indexOf(theirs.organization_id)).toBeLessThan(ids.indexOf(ours.organization_id));
    expect(ids.toSorted().toReversed()).toEqual(ids);
    const output = await read('organization', 'show', '--organization', ours.organization_id);
    const none = { active_keys: 1, active_applications: 0 };
    expect(output).toMatchObject({ id: ours.organization_id, name: 'Ours', users: 1, live: none, test: none });
  });

  test('show users, keys, applications and webhooks of one organization only, without secrets', async () => {
    const of = ['--organization', ours.organization_id];
    const tenant = [...of, '--environment', 'live'];
    const [user, ...others] = (await read<Rows<'users'>>('user', 'list', ...of, '--role', 'admin')).users;
    expect([user, others]).toEqual([expect.objectContaining({ id: ours.user_id, role: 'admin', status: 'active' }), []]);
    expect(await read('user', 'show', ...of, '--user', ours.user_id)).toEqual(user);

    const { keys, total } = await read<Rows<'keys'>>('key', 'list', ...tenant, '--status', 'active');
    expect([keys.length, keys[0]?.['user_id']]).toEqual([total, ours.user_id]);
    expect(await read('key', 'show', ...tenant, '--key', String(keys[0]?.['id']))).toEqual(keys[0]);
    expect(JSON.stringify(keys)).not.toContain(ours.api_keys.live);

    const { client_id: clientId } = await read<{ client_id: string }>('oauth-client', 'create', ...tenant);
    const { applications } = await read<Rows<'applications'>>('oauth-client', 'list', ...tenant);
    const { users } = await read<Rows<'users'>>('user', 'list', ...of);
    expect(users.find(({ id }) => id === applications[0]?.['user_id'])).toMatchObject({ role: '', status: 'active' });
    expect(applications.map(({ client_id }) => client_id)).toEqual([clientId]);
    expect(await read('oauth-client', 'show', ...tenant, '--client', clientId)).toEqual(applications[0]);

    const created = await fetch(`${system.url}/v1/webhooks`, {
      method: 'POST',
      headers: { authorization: `Bearer ${ours.api_keys.live}`, 'content-type': 'application/json' },
      body: JSON.stringify({ url: 'https://hooks.example.com', events: ['credits.low_balance'] }),
    });
    const { data } = (await created.json()) as { data: { id: string } };
    const { webhooks } = await read<Rows<'webhooks'>>('webhook', 'list', ...tenant);
    expect(webhooks.map(({ id }) => id)).toEqual([data.id]);
    expect(await read('webhook', 'show', ...tenant, '--webhook', data.id)).toMatchObject({ id: data.id, deliveries: [] });
  });

  test.each([
    ['user', 'show', '--user', 'usr_none'],
    ['key', 'show', '--environment', 'live', '--key', 'key_none'],
    ['oauth-client', 'show', '--environment', 'live', '--client', 'app_none'],
    ['webhook', 'show', '--environment', 'live', '--webhook', 'whk_none'],
    ['organization', 'show'],
  ])('%s %s of an unknown id, or of another organization, fails', async (...words) => {
    const isUser = words[0] === 'user';
    const named = words.map((word) => (word === 'usr_none' ? theirs.user_id : word));
    const organization = words.includes('organization') ? 'org_none' : ours.organization_id;
    expect(await failureOf(...(isUser ? named : words), '--organization', organization)).toMatch(/^not_found/);
  });

  test.each(['user', 'key', 'oauth-client', 'webhook', 'data-source', 'audit'])(
    '%s list never says none of an unknown organization',
    async (noun) => {
      const environment = noun === 'user' ? [] : ['--environment', 'live'];
      expect(await failureOf(noun, 'list', '--organization', 'org_none', ...environment)).toMatch(/^not_found/);
    },
  );

  test('an unknown dead letter or beginning of a page is an error, and the size of a page is limited', async () => {
    expect(await failureOf('outbox', 'show', '--service', 'agents', '--id', 'x')).toContain('has set no message x aside');
    expect(await failureOf('organization', 'list', '--limit', '101')).toContain('from 1 to 100');
    expect(await failureOf('organization', 'list', '--after', 'zzz')).toMatch(/^invalid_cursor: /);
  });
});

test('the audit log of an organization, and the entries that belong to none, can be read, verified and anchored', async () => {
  const list = (...words: string[]) => read<Rows<'entries'>>('audit', 'list', '--organization', ...words);
  const ofOurs = [ours.organization_id, '--action', 'organization.created'];
  await until('the organization is in its log', async () => (await list(...ofOurs)).total === 1);
  const created = { action: 'organization.created', actor_type: 'operator', actor_id: 'operator', target_id: ours.organization_id };
  expect((await list(...ofOurs)).entries).toEqual([expect.objectContaining(created)]);
  expect((await list(...ofOurs, '--date-to', '2026-01-01')).entries).toEqual([]);

  const kids = [await read<{ kid: string }>('signing-key', 'rotate'), await read<{ kid: string }>('signing-key', 'rotate')];
  const rotations = ['service', '--actor', 'operator', '--action', 'signing_key.rotated', '--limit', '1'];
  await until('both rotations are in the log', async () => Number((await list(...rotations)).total) >= 2);
  const first = await list(...rotations);
  const second = await list(...rotations, '--after', first.next ?? '');
  expect([second, first].map(({ entries }) => entries[0]?.['target_id'])).toEqual(kids.map(({ kid }) => kid));
  expect(await read('audit', 'verify', '--organization', 'service')).toMatchObject({ ok: true, organizations: 1, faults: [] });
  const { anchors } = await read<Rows<'anchors'>>('audit', 'anchor', '--organization', 'service');
  expect(anchors).toEqual([expect.objectContaining({ organization: 'service' })]);
});

test('people get tables, whose ids can be copied, and verify says ok', async () => {
  const [names, ...rows] = (await admin('user', 'list', '--organization', theirs.organization_id)).trimEnd().split('\n');
  expect(names?.split(/ {2,}/)).toEqual(['id', 'name', 'email', 'role', 'status', 'created_at']);
  expect(rows).toEqual([expect.stringMatching(new RegExp(`^${theirs.user_id} {2}Administrator {2}root@theirs.example {2}`)), 'total: 1']);
  expect(await admin('outbox', 'list', '--service', 'identity')).toBe('dead_letters: none\n');
  expect(await admin('credits', 'verify', '--organization', theirs.organization_id)).toMatch(/^ok: true\ntenants: \d\nfaults: none\n$/);
  expect(await admin('audit', 'verify', '--organization', theirs.organization_id)).toMatch(/^ok: true\n/);
});

test('verify never says ok of an unknown organization, or of a file without anchors of the organization', async () => {
  for (const noun of ['credits', 'audit']) expect(await failureOf(noun, 'verify', '--organization', 'org_none')).toMatch(/^not_found/);
  expect(await failureOf('audit', 'anchor', '--organization', 'org_none')).toMatch(/^not_found/);
  expect(await failureOf('audit', 'verify', '--anchors', import.meta.filename)).toContain(`${import.meta.filename} does not hold anchors`);
  const file = join(await testFolder(), 'anchors.json');
  await admin('audit', 'anchor', '--organization', ours.organization_id, '--out', file);
  const verify = (organization: string) => failureOf('audit', 'verify', '--organization', organization, '--anchors', file);
  expect(await verify(theirs.organization_id)).toContain(`has no anchor of ${theirs.organization_id} to check`);
  expect(await verify(ours.organization_id)).toMatch(/^no failure: ok: true\n/);
});

test('a grant whose answer is lost says under which id it can be repeated without a second effect', async () => {
  const lost = async () => {
    throw new ServiceError('unavailable');
  };
  const connection = { identity: { getOrganization: async () => ({}) }, credits: { grant: lost }, close: () => undefined };
  const words = ['credits', 'grant', '--organization', 'org_a', '--environment', 'live', '--amount', '5'];
  jest.spyOn(process.stderr, 'write').mockReturnValue(true);
  const grant = buildProgram({}, () => connection as never).parseAsync(words, { from: 'user' });
  expect(await grant.catch(printableFailure)).toMatch(
    /^unavailable: .* The credits may have been added: repeat the command with --id [0-9a-f-]{36}\./,
  );
});
