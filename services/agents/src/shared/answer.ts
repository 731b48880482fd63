import { checkId, checkTenant, decodeIdTime, encodeIdTime, ServiceError, type Tenant } from '@agent-service/contracts';

/** The id of an answer, which is also the id of its message and of its hold. */
export interface AnswerKey extends Tenant {
  readonly id: string;
}

/** One attempt at an answer by a worker. */
export interface AttemptKey extends AnswerKey {
  readonly attempt: number;
}

interface KeyMessage {
  organizationId: string;
  environment: string;
  answerId: string;
}

export const checkKey = (key: KeyMessage | null): AnswerKey => ({
  ...checkTenant(key),
  id: checkId(key?.answerId ?? '', 'answer_id'),
});

export function checkAttempt(attempt: { answer: KeyMessage | null; attempt: number } | null): AttemptKey {
  if (!attempt) throw new ServiceError('invalid_request', { message: 'answer is missing.', param: 'answer' });
  return { ...checkKey(attempt.answer), attempt: attempt.attempt };
}

/** A key as one string, for maps. */
export const nameOf = ({ organizationId, environment, id }: AnswerKey): string => `${organizationId} ${environment} ${id}`;

/** The fields of a log event about a batch: how many answers it has, and the first of them. */
export const batchFields = (answers: readonly Pick<AnswerKey, 'organizationId' | 'id'>[]) => ({
  answers: answers.length,
  answer_id: answers[0]?.id,
  organization_id: answers[0]?.organizationId,
});

export const keyMessage = ({ organizationId, environment, id }: AnswerKey): KeyMessage => ({ organizationId, environment, answerId: id });

/** Each row by its key. */
export const byKey = <Row extends AnswerKey>(rows: readonly Row[]): Map<string, Row> => new Map(rows.map((row) => [nameOf(row), row]));

/** The first row of each key. */
export const firstOfEachKey = <Row extends AnswerKey>(rows: readonly Row[]): Row[] => [...byKey(rows.toReversed()).values()];

const timeLength = 10;
const wellFormed = /^msg_[0-7][0-9abcdefghjkmnpqrstvwxyz]{25}$/;

/** The end of the year 9999. A later time has another text form, and no message has one. */
const latest = Date.UTC(10_000, 0) - 1;

/** The millisecond in the id of a message; undefined for a text that is not such an id. */
export function timeOf(id: string): number | undefined {
  if (!wellFormed.test(id)) return undefined;
  const time = decodeIdTime(timePart(id));
  return time > 0 && time <= latest ? time : undefined;
}

const timePart = (id: string) => id.slice(4, 4 + timeLength);

/** A key and the time that tells the partition of its rows. */
export const withTime = ({ organizationId, environment, id }: AnswerKey): AnswerKey & { readonly createdAt: number } => ({
  organizationId,
  environment,
  id,
  createdAt: timeOf(id) ?? 0,
});

/**
 * The id of the user's message that an answer belongs to: a millisecond older and otherwise the same. A second acceptance of the answer
 * writes the same row, and the key of the row refuses it.
 */
export function userMessageIdOf(answerId: string): string {
  const time = timeOf(answerId);
  if (time === undefined) throw new RangeError(`${answerId} is not the id of an answer`);
  return `msg_${encodeIdTime(time - 1)}${answerId.slice(4 + timeLength)}`;
}

/** The states of an answer that has not ended, and of a hold that is to be released. */
export const states = ['waiting', 'dispatched', 'running', 'settling', 'releasing'] as const;
export type State = (typeof states)[number];

interface Transition {
  /** The states in which the event may happen. In any other state it changes nothing. */
  readonly from: readonly State[];
  /** Null: the row is deleted. */
  readonly to: State | null;
}

/** All events in the life of an answer. The statements in `store/` take their conditions and new states from here. */
export const transitions = {
  /** A job is made for it. */
  dispatch: { from: ['waiting'], to: 'dispatched' },
  /** A worker begins an attempt, or asks again for the attempt that it has begun. */
  begin: { from: ['dispatched', 'running'], to: 'running' },
  renew: { from: ['running'], to: 'running' },
  /** The worker returns the attempt, dies, or does not renew its lease. The answer gets another job. */
  endLease: { from: ['running'], to: 'dispatched' },
  /** Its job is lost or may be. The answer gets another job. */
  redispatch: { from: ['dispatched'], to: 'dispatched' },
  /** The result is stored, and will never be computed again. */
  complete: { from: ['running'], to: 'settling' },
  settle: { from: ['settling'], to: null },
  /** It fails, is cancelled, reaches its deadline, or its agent is deleted. */
  end: { from: ['waiting', 'dispatched', 'running'], to: 'releasing' },
  /** The ledger refuses to settle it. */
  endUnsettled: { from: ['settling'], to: 'releasing' },
  release: { from: ['releasing'], to: null },
} as const satisfies Record<string, Transition>;

export type Event = keyof typeof transitions;

/** Answers in these states count as in flight for their tenant; those that wait are counted apart. */
export const inFlightStates = ['dispatched', 'running', 'settling'] as const satisfies readonly State[];

/** How long a lease lasts without being renewed. */
export const leaseMs = 15_000;
/** After this many lost leases in a row an answer fails: it may be the reason why its workers died. */
export const maxLostLeases = 3;
/** The queue is asked about the job of a dispatched answer that no worker has begun for this long. */
export const unbegunMs = 5_000;
/** The longest time between two such checks; each waits as long as the job has waited already. */
export const maxUnbegunMs = 20_000;
/** A job that the queue still knows gets a second one after this: the worker that took it may be dead. */
export const doubtfulMs = 20_000;
/** A sweep of any process takes over a settlement, release or end that its process has not finished after this time. */
export const takeOverMs = 10_000;
/** The longest time between reading agents and conversations and the commit; far below the time after which an overdue hold is released. */
export const acceptanceLimitMs = 15_000;
/** How long the id of a released hold is kept from being accepted; longer than an acceptance takes. */
export const unusedHoldMs = 30_000;
/** How far the clock of the process that made an answer's id may be off. */
export const clockToleranceMs = 60_000;
/** How long an Idempotency-Key names its answer. */
export const keyRetentionMs = 24 * 3_600_000;
/** After this process or its database was away for a while, workers get this long to renew their leases. */
export const leaseGraceMs = 6_000;

/** The columns of a row under the names that the code uses. */
export const select = (columns: Readonly<Record<string, string>>): string =>
  Object.entries(columns)
    .map(([name, expression]) => `${expression} as "${name}"`)
    .join(', ');

/** Columns of an ended message, which is a row of `messages`. */
export const endedColumns = (alias: string) => ({
  id: `${alias}.id`,
  conversationId: `${alias}.conversation_id`,
  agentId: `${alias}.agent_id`,
  content: `${alias}.content`,
  contentType: `${alias}.content_type`,
  credits: `${alias}.credits`,
  tier: `${alias}.tier`,
  status: `${alias}.status`,
  failureCode: `${alias}.failure_code`,
  failureMessage: `${alias}.failure_message`,
  queries: `${alias}.queries`,
});

/** The same columns of an answer that has not ended, which is a row of `answers`. */
export const pendingColumns = (alias: string): ReturnType<typeof endedColumns> => ({
  id: `${alias}.id`,
  conversationId: `${alias}.conversation_id`,
  agentId: `${alias}.agent_id`,
  content: `''`,
  contentType: `'markdown'`,
  credits: '0',
  tier: `${alias}.tier`,
  status: `case when ${alias}.state in ('waiting', 'dispatched') then 'queued' else 'running' end`,
  failureCode: `''`,
  failureMessage: `''`,
  queries: 'null::jsonb',
});
