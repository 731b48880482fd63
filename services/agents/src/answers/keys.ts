import { type Environment, ServiceError } from '@agent-service/contracts';

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

const maxIdLength = 128;

export function checkEnvironment(environment: string): Environment {
  if (environment === 'live' || environment === 'test') return environment;
  throw new ServiceError('invalid_request', { message: 'The environment must be live or test.', param: 'environment' });
}

/** PostgreSQL stores no NUL character, and one would fail the whole batch. */
export function checkId(id: string, param: string): string {
  if (id.length > 0 && id.length <= maxIdLength && !id.includes('\0')) return id;
  throw new ServiceError('invalid_request', { message: `${param} must have 1 to ${maxIdLength} characters.`, param });
}

interface KeyMessage {
  organizationId: string;
  environment: string;
  answerId: string;
}

export const checkKey = (key: KeyMessage | null): AnswerKey => ({
  organizationId: checkId(key?.organizationId ?? '', 'organization_id'),
  environment: checkEnvironment(key?.environment ?? ''),
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
