import { describeError } from '@agent-service/runtime/log';
import { expect, test } from '@jest/globals';
import pg from 'pg';
import { LoginRefused } from '../failure.ts';
import { translateFailure, translateRejection } from './database-message.ts';

const sent = (fields: Partial<pg.DatabaseError>): pg.DatabaseError =>
  Object.assign(new pg.DatabaseError(fields.message ?? 'no', 100, 'error'), fields);

test('the log has the code and the routine of a server’s error, and no text that the server chose', () => {
  const text = 'CANARY '.repeat(60_000);
  for (const code of ['08006', '28P01', '57014', 'XX000', '22P02', 'ECONNRESET', text, undefined])
    for (const fields of [{ message: text }, { routine: text }, { routine: 'CANARY at 1' }, { detail: text, where: text }]) {
      const { cause, message } = translateFailure(sent({ ...fields, code }));
      const line = JSON.stringify(describeError(cause));
      expect([code?.slice(0, 20), line.length < 5_000, `${message} ${line}`]).toEqual([
        code?.slice(0, 20),
        true,
        expect.not.stringContaining('CANARY'),
      ]);
    }
  const { cause, sqlState } = translateFailure(sent({ code: '28P01', routine: 'auth_failed' }));
  expect([sqlState, cause]).toEqual(['28P01', expect.objectContaining({ code: '28P01', message: 'SQLSTATE 28P01 in auth_failed' })]);
});

test('errors of Node and of TLS are logged as they are', () => {
  const refused = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:1'), { code: 'ECONNREFUSED' });
  expect(translateFailure(refused)).toMatchObject({ kind: 'unavailable', cause: refused, sqlState: undefined });
});

test('a message that a model may read is cut, and its length costs no time', () => {
  expect(translateFailure(sent({ code: '42703', message: 'x'.repeat(400_000) })).message).toHaveLength(
    'The database says: .'.length + 1_000,
  );
  const repeated = sent({ code: '28000', message: 'pg_hba.conf '.repeat(200_000) });
  expect(translateFailure(repeated).message).toMatch(/no rule in pg_hba\.conf/);
});

test('a server that asks for a password is refused by its URL that has none, and a server cannot send this refusal', () => {
  const text = 'SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string';
  const refusal = translateRejection(new Error(text));
  expect(refusal).toBeInstanceOf(LoginRefused);
  expect(refusal.message).toBe('The server asks for a password, and the URL has none.');
  expect(translateRejection(sent({ message: text })).message).toBe('The database could not run this.');
});
