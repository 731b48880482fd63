import { type Client, createClient, type Principal, ServiceError } from '@agent-service/contracts';
import { countLockWaits, until } from '@agent-service/testkit';
import { Client as Database } from 'pg';
import { boot } from './boot.ts';

export const password = 'correct horse battery';

/** An administrator who may change users. */
export const administrator = (organizationId: string, userId: string): Principal => ({
  organizationId,
  environment: 'live',
  userId,
  credentialId: '',
  scopes: ['users:write'],
  admin: true,
  role: 'admin',
});

type Statements = readonly (readonly [string, ...unknown[]])[];

export const lockUser = 'select 1 from users where id = $1 for no key update';

/** A change of a user's password, as identity makes it. */
export const passwordChange = (userId: string): Statements => [
  [lockUser, userId],
  ['update passwords set changed_at = clock_timestamp() where user_id = $1', userId],
];

/** A new hash of the same password. */
export const passwordRehash = (userId: string): Statements => [
  [lockUser, userId],
  [`update passwords set hash = hash || 'A' where user_id = $1`, userId],
];

/** The end of every session of a user, as identity makes it. */
export const endOfSessions = (userId: string): Statements => [
  [lockUser, userId],
  ['delete from portal_sessions where user_id = $1', userId],
];

/** The outcome of work that reads before the statements are committed, and then waits for their locks; `second` begins behind it. */
export async function outcomeBehind(
  url: string,
  statements: Statements,
  work: () => Promise<unknown>,
  second?: () => void,
): Promise<string> {
  const client = new Database({ connectionString: url });
  await client.connect();
  try {
    await client.query('begin; set local search_path = identity');
    for (const [statement, ...values] of statements) await client.query(statement, values);
    let isOver = false;
    const outcome = outcomeOf(work()).finally(() => {
      isOver = true;
    });
    const wait = (count: number) => until('the work waits or is over', async () => isOver || (await countLockWaits(url)) >= count);
    await wait(1);
    second?.();
    if (second) await wait(2);
    await client.query('commit');
    return await outcome;
  } finally {
    await client.end();
  }
}

/** The identity service with a client that calls as the portal does, and organizations whose administrators can sign in. */
export async function portalWorld(settings: Readonly<Record<string, string>> = {}) {
  const service = await boot(settings);
  const portal = createClient('identity', { address: service.address, as: 'portal', config: service.config });
  let organizations = 0;
  let addresses = 0;

  /** A browser at an address that no attempt came from yet. */
  const browser = (address = `10.0.${Math.floor(addresses / 250)}.${(addresses++ % 250) + 1}`) => ({
    address,
    countedAddress: address,
    userAgent: 'a browser',
  });

  return {
    service,
    portal,
    browser,
    async makeOrganization(email = `admin${++organizations}@acme.example`, secret = password) {
      const { organizationId, userId } = await service.operator.createOrganization({ name: `Acme ${organizations}`, email });
      await service.operator.setUserPassword({ organizationId, userId, password: secret });
      return { organizationId, userId, email };
    },
    async signIn(email: string, more: Partial<Parameters<Client<'identity'>['signIn']>[0]> = {}): Promise<string> {
      const { opened } = await portal.signIn({ email, password, client: browser(), ...more });
      return opened?.sessionToken ?? '';
    },
    /** Runs a statement on the database of the service, to move its times. */
    async database(statement: string, values: unknown[] = []) {
      const client = new Database({ connectionString: service.url });
      await client.connect();
      try {
        return (await client.query(statement, values)).rows;
      } finally {
        await client.end();
      }
    },
    outcomeBehind: (statements: Statements, work: () => Promise<unknown>, second?: () => void) =>
      outcomeBehind(service.url, statements, work, second),
    async stop() {
      portal.close();
      await service.stop();
    },
  };
}

export type PortalWorld = Awaited<ReturnType<typeof portalWorld>>;

/** The code of a failure; `ok` for a success. */
export const outcomeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'ok',
    (cause: unknown) => ServiceError.from(cause).code,
  );

/** The outcomes of a race. On a busy machine locks may be held for longer than a service waits, which says nothing about it: it runs again. */
export async function undisturbed(race: () => Promise<(string | undefined)[]>): Promise<(string | undefined)[]> {
  let outcomes = await race();
  for (let tries = 1; tries < 5 && outcomes.includes('unavailable'); tries += 1) outcomes = await race();
  return outcomes;
}
