import { expect, jest, test } from '@jest/globals';
import { buildProgram } from './program.ts';

/** The request of `audit list` for entries from this time on; undefined where the time is refused. */
async function requestFrom(time: string) {
  const listAuditEntries = jest.fn(async (_request: unknown) => ({ entries: [], page: null }));
  const connection = { identity: { getOrganization: async () => ({}), listAuditEntries }, close: () => undefined };
  const words = ['--json', 'audit', 'list', '--organization', 'org_a', '--date-from', time];
  jest.spyOn(process.stdout, 'write').mockReturnValue(true);
  jest.spyOn(process.stderr, 'write').mockReturnValue(true);
  await buildProgram({}, () => connection as never)
    .parseAsync(words, { from: 'user' })
    .catch(() => undefined);
  jest.restoreAllMocks();
  return listAuditEntries.mock.calls[0]?.[0];
}

test.each([
  ['2026-01-31', '2026-01-31T00:00:00.000Z'],
  ['2028-02-29T12:30Z', '2028-02-29T12:30:00.000Z'],
  ['2026-01-31T23:00:00.5-02:00', '2026-02-01T01:00:00.500Z'],
])('the audit log is listed from %s in whichever zone the operator is', async (time, dateFrom) => {
  expect(await requestFrom(time)).toMatchObject({ dateFrom, dateTo: '' });
});

test.each([
  '5',
  'May 2026',
  '2026-01-31T12:00',
  '2026-01-31 12:00',
  '2026-02-30',
  '2026-02-30T12:00Z',
  '2026-01-31T25:00Z',
  '1969-12-31',
  '',
])('a list of the audit log from "%s" is refused', async (time) => {
  expect(await requestFrom(time)).toBeUndefined();
});
