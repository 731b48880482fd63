import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { maxQueries, maxStatementLength, type QueryRecord, withQuery } from './query-log.ts';

const query = fc.record({
  statement: fc.string({ unit: 'binary', maxLength: maxStatementLength + 100 }),
  tables: fc.array(fc.string()),
  rows: fc.nat(),
  durationMs: fc.double({ min: 0, max: 1e6, noNaN: true }),
});

test('the first queries are recorded in order, and only long statements are cut', () => {
  fc.assert(
    fc.property(fc.array(query, { maxLength: maxQueries + 20 }), (queries) => {
      const log = queries.reduce<readonly QueryRecord[]>(withQuery, []);
      expect(log).toHaveLength(Math.min(queries.length, maxQueries));
      for (const [index, { statement, rows, durationMs }] of log.entries()) {
        const given = queries[index] as QueryRecord;
        expect([rows, durationMs]).toEqual([given.rows, Math.round(given.durationMs)]);
        if (given.statement.length <= maxStatementLength) expect(statement).toBe(given.statement);
        else expect([statement.length <= maxStatementLength, statement.endsWith('…')]).toEqual([true, true]);
      }
    }),
  );
});
