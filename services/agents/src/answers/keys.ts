import { checkId, checkTenant, type Environment, ServiceError } from '@agent-service/contracts';

export interface TenantKey {
  readonly organizationId: string;
  readonly environment: Environment;
}

/** The id of an answer, which is also the id of its message and of its hold. */
export interface AnswerKey extends TenantKey {
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

export const keyMessage = ({ organizationId, environment, id }: AnswerKey): KeyMessage => ({ organizationId, environment, answerId: id });

/** Each row by its key. */
export const byKey = <Row extends AnswerKey>(rows: readonly Row[]): Map<string, Row> => new Map(rows.map((row) => [nameOf(row), row]));

/** The rows without those whose key another row before them has. */
export const firstOfEachKey = <Row extends AnswerKey>(rows: readonly Row[]): Row[] => [...byKey(rows.toReversed()).values()];
