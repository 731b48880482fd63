import { AddressRefused } from '@agent-service/outbound';
import pg from 'pg';
import { DataFailure, LoginRefused } from '../failure.ts';
import { unreachable } from './guarded-socket.ts';

interface DriverFailure {
  /** The SQLSTATE of an error that the server sent, else the code of Node or TLS; empty where it has none. */
  readonly code: string;
  readonly message: string;
  readonly state: string | undefined;
  /** For the log: no text that the server chose. */
  readonly loggable: unknown;
}

/** Characters of a server's message that are read. PostgreSQL's are shorter. */
const maxMessageLength = 1_000;

/**
 * Errors of parsing and analysis quote only the statement: its names, columns of the subqueries, types. Errors of the execution may quote
 * stored values, also of rows that a view filters out, so only a sentence for their class is reported.
 */
const quotable = /^(42601|42703|42702|42803|42804|42883|42725|42P18|42P19|42P20|42P10|42P21|42P22|42712|42846|42P08|42611|0A000|21000)$/;

const sentences: readonly (readonly [RegExp, string])[] = [
  [/^22012/, 'The statement divides by zero. Use nullif(divisor, 0).'],
  [/^22P02|^2200[7-9]|^22018/, 'A value cannot be read as the type that it is cast to or compared with.'],
  [/^22003/, 'A number is out of the range of its type.'],
  [/^2201[0-9BEFWX]/, 'A function got an argument that it does not accept.'],
  [/^2203|^22032/, 'A JSON value or path does not fit.'],
  [/^22/, 'A value does not fit where it is used.'],
  [/^23502/, 'A column that is required has no value.'],
  [/^23503/, 'The change refers to a row that does not exist, or other rows refer to it.'],
  [/^23505/, 'There is a row with this key already.'],
  [/^23514/, 'A value is not among those that the table allows.'],
  [/^23/, 'The change breaks a rule of the table.'],
  [/^25006/, 'Only reading is possible here.'],
  [/^42501/, 'The data source does not permit this.'],
  [/^42P01|^3F000/, 'A table was changed or removed after the data source was last surveyed.'],
  [/^42/, 'The statement is not valid.'],
  [/^5[34]/, 'The data source has reached a limit of its own.'],
  [/^40|^55P03/, 'The data source is busy with conflicting work. It can be tried again.'],
  [/^P0/, 'A rule of the data source refused the change.'],
];

const unavailableCodes =
  /^(08|57P0|28|3D|53300)|^(ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EHOST|ENET|EAI_|EPROTO|ERR_TLS|ERR_SSL|DEPTH_|SELF_|CERT_|UNABLE_)/;
const unavailableMessages =
  /terminated|timeout exceeded when trying to connect|connection error|does not support SSL|timeout expired|certificate|Connection ended|after calling end/i;

/** An error of the driver as a failure whose message the model may read. */
export function translateFailure(cause: unknown): DataFailure {
  if (cause instanceof DataFailure) return cause;
  if (cause instanceof AddressRefused) return unreachable(cause);
  const { code, message, state, loggable } = readFailure(cause);
  if (code === '57014' || code === '25P03' || code === '25P04') return timedOut(loggable, state);
  if (unavailableCodes.test(code) || (code === '' && unavailableMessages.test(message)))
    return new DataFailure('unavailable', unavailableSentence(code, message), loggable, state);
  if (quotable.test(code)) return new DataFailure('failed', `The database says: ${message}.`, loggable, state);
  const [, sentence] = sentences.find(([pattern]) => pattern.test(code)) ?? [];
  return new DataFailure('failed', `${sentence ?? 'The database could not run this.'}${code === '' ? '' : ` (${code})`}`, loggable, state);
}

function readFailure(cause: unknown): DriverFailure {
  const { code = '', message = '' } = typeof cause === 'object' && cause !== null ? (cause as { code?: string; message?: string }) : {};
  const cut = String(message).slice(0, maxMessageLength).toWellFormed();
  if (!(cause instanceof pg.DatabaseError)) return { code, message: cut, state: undefined, loggable: cause };
  const state = /^[0-9A-Z]{5}$/.test(code) ? code : undefined;
  return { code: state ?? '', message: cut, state, loggable: withoutText(state, cause) };
}

/** Code and routine, without message, detail and context: they may quote stored values, and a server may send any text in them. */
function withoutText(state: string | undefined, { routine = '' }: pg.DatabaseError): Error {
  const message = `SQLSTATE ${state ?? 'unknown'} in ${/^\w{1,63}$/.test(routine) ? routine : 'unknown'}`;
  return Object.assign(new Error(message), state && { code: state });
}

/** Translates a failure to connect. Poolers have codes of their own for an unknown login. */
export function translateRejection(cause: unknown): DataFailure {
  if (lacksPassword(cause))
    return new LoginRefused(new DataFailure('failed', 'The server asks for a password, and the URL has none.', cause));
  const failure = translateFailure(cause);
  const isRejected = failure.kind === 'failed' || /^(28|3D|08P01)/.test(failure.sqlState ?? '');
  return isRejected ? new LoginRefused(failure) : failure;
}

/** The driver throws this before it answers the server; the same text in an error of the server is not read. */
const lacksPassword = (cause: unknown): boolean =>
  cause instanceof Error &&
  !(cause instanceof pg.DatabaseError) &&
  /^SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a (non-empty )?string$/.test(cause.message);

const timedOut = (cause: unknown, state: string | undefined): DataFailure =>
  new DataFailure('timeout', 'The statement ran into its time limit. Read fewer rows, or aggregate more narrowly.', cause, state);

/** The server has one code for all rules of pg_hba.conf; its message shows whether TLS is missing. */
const loginRefusals: readonly (readonly [RegExp, string])[] = [
  [
    /pg_hba\.conf.*(no encryption|SSL off)/,
    'The data source refuses this account without TLS. Connect it with sslmode=require or sslmode=verify-full.',
  ],
  [/pg_hba\.conf/, 'The data source has no rule in pg_hba.conf that allows this account to log in from this address.'],
];

function unavailableSentence(code: string, message: string): string {
  const [, sentence] = code.startsWith('28') ? (loginRefusals.find(([pattern]) => pattern.test(message)) ?? []) : [];
  if (sentence) return sentence;
  if (code.startsWith('28')) return 'The data source refuses the account that it was connected with.';
  if (code.startsWith('3D')) return 'The server of the data source has no database of this name.';
  if (code === '53300') return 'The data source has no free connection. It can be tried again.';
  return 'The data source cannot be reached at the moment.';
}
