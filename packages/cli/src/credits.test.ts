import { ServiceError } from '@agent-service/contracts';
import { afterEach, expect, jest, test } from '@jest/globals';
import type { Connection } from './connection.ts';
import { buildProgram } from './program.ts';

afterEach(() => {
  process.exitCode = undefined;
  jest.restoreAllMocks();
});

type VerifyLedger = Connection['credits']['verifyLedger'];
type Part = Awaited<ReturnType<VerifyLedger>>;

/** Runs `credits verify` with these replies to its calls. */
async function verify(...replies: (Partial<Part> | ServiceError)[]) {
  const written: string[] = [];
  jest.spyOn(process.stdout, 'write').mockImplementation((text) => written.push(String(text)) > 0);
  const cursors: unknown[] = [];
  const options = new Set<unknown>();
  const verifyLedger: VerifyLedger = async ({ cursor }, option) => {
    cursors.push(cursor);
    options.add(option?.isSentOnce);
    const reply = replies.shift();
    if (reply instanceof ServiceError) throw reply;
    return { tenants: '1', faults: [], unverified: [], nextCursor: '', ...reply };
  };
  await buildProgram({}, () => ({ credits: { verifyLedger }, close: () => undefined }) as unknown as Connection).parseAsync(
    ['--json', 'credits', 'verify'],
    { from: 'user' },
  );
  return { output: JSON.parse(written.join('')), exitCode: process.exitCode, cursors, options: [...options] };
}

const tenant = (organizationId: string) => ({ organizationId, environment: 'live' });
const fault = { tenant: tenant('org_2'), account: 'ledger', equation: 'balance = its transfers', expected: '1', actual: '2' };
const unverified = [{ tenant: tenant('org_1'), code: 'unavailable' }];
const namedUnverified = [{ organization_id: 'org_1', environment: 'live', code: 'unavailable' }];

test('ledgers that could not be verified are named beside the faults of the others, and the command fails', async () => {
  expect(await verify({ tenants: '0', unverified, nextCursor: 'next' }, { faults: [fault] })).toMatchObject({
    output: { ok: false, tenants: 1, faults: [{ organization_id: 'org_2', expected: 1, actual: 2 }], unverified: namedUnverified },
    exitCode: 2,
    cursors: ['', 'next'],
  });
  process.exitCode = undefined;
  expect(await verify({ unverified })).toMatchObject({ output: { ok: false, faults: [], unverified: namedUnverified }, exitCode: 1 });
});

test('a part whose call finds no service is repeated, and no replica gets it twice at once', async () => {
  const away = new ServiceError('unavailable');
  expect(await verify({ nextCursor: 'next' }, away, away, {})).toMatchObject({
    output: { ok: true, tenants: 2 },
    cursors: ['', 'next', 'next', 'next'],
    options: [true],
  });
  await expect(verify(new ServiceError('internal'), {})).rejects.toMatchObject({ code: 'internal' });
});

test('a grant names its id on standard error before the call, so that it can be repeated after an interruption', async () => {
  const written = { out: '', err: '' };
  jest.spyOn(process.stdout, 'write').mockImplementation((text) => (written.out += String(text)) !== '');
  jest.spyOn(process.stderr, 'write').mockImplementation((text) => (written.err += String(text)) !== '');
  const sent = (...options: string[]) =>
    new Promise<string>((resolve) => {
      const credits = {
        grant: ({ grantId }: { grantId: string }) => {
          resolve(grantId);
          return new Promise(() => undefined);
        },
      };
      const connection = { credits, identity: { getOrganization: async () => ({}) }, close: () => undefined };
      const args = ['--json', 'credits', 'grant', '--organization', 'org_1', '--environment', 'live', '--amount', '5', ...options];
      void buildProgram({}, () => connection as unknown as Connection).parseAsync(args, { from: 'user' });
    });
  const id = await sent();
  expect(written).toEqual({ out: '', err: `grant_id: ${id} (repeat with --id ${id} if this is interrupted)\n` });
  expect(await sent('--id', 'first')).toBe('first');
  expect(written.err).not.toContain('first');
});
