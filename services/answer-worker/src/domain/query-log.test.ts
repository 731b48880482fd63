import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { longestStatement, mostQueries, type QueryRecord, withQuery } from './query-log.ts';

const query = fc.record({
  statement: fc.string({ unit: 'binary', maxLength: longestStatement + 100 }),
  tables: fc.array(fc.string()),
  rows: fc.nat(),
  durationMs: fc.double({ min: 0, max: 1e6, noNaN: true }),
});

test('the first queries are kept in order, whatever their number and length, and what is short is kept as it is', () => {
  fc.assert(
    fc.property(fc.array(query, { maxLength: mostQueries + 20 }), (queries) => {
      const log = queries.reduce<readonly QueryRecord[]>(withQuery, []);
      expect(log).toHaveLength(Math.min(queries.length, mostQueries));
      for (const [index, { statement, rows, durationMs }] of log.entries()) {
        const given = queries[index] as QueryRecord;
        expect([rows, durationMs]).toEqual([given.rows, Math.round(given.durationMs)]);
        if (given.statement.length <= longestStatement) expect(statement).toBe(given.statement);
        else expect([statement.length <= longestStatement, statement.endsWith('…')]).toEqual([true, true]);
      }
    }),
  );
});
