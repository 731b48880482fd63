import type { Environment } from '@agent-service/contracts';
import { ServiceError } from '@agent-service/contracts';

export interface TenantKey {
  readonly organizationId: string;
  readonly environment: Environment;
}

/** Which answer, and whose. */
export interface AnswerKey extends TenantKey {
  readonly id: string;
}

/** An answer as one worker has it in hand. */
export interface AttemptKey extends AnswerKey {
  readonly attempt: number;
}

const longestId = 128;

export function checkEnvironment(environment: string): Environment {
  if (environment === 'live' || environment === 'test') return environment;
  throw new ServiceError('invalid_request', { message: 'The environment must be live or test.', param: 'environment' });
}

/** PostgreSQL keeps no NUL, so one would be a fault of the batch that it came with. */
export function checkId(id: string, param: string): string {
  if (id.length > 0 && id.length <= longestId && !id.includes('\0')) return id;
  throw new ServiceError('invalid_request', { message: `${param} must have 1 to ${longestId} characters.`, param });
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

export const checkAttempt = ({ answer, attempt }: { answer: KeyMessage | null; attempt: number }): AttemptKey => ({
  ...checkKey(answer),
  attempt,
});

/** One string a key, for maps. */
export const nameOf = ({ organizationId, environment, id }: AnswerKey): string => `${organizationId} ${environment} ${id}`;

/** An item's key as the statements' items name it. */
export const keyItem = ({ organizationId, environment, id }: AnswerKey) => ({ organization_id: organizationId, environment, id });

export const keyMessage = ({ organizationId, environment, id }: AnswerKey): KeyMessage => ({ organizationId, environment, answerId: id });

/** Each row by its key. */
export const byKey = <Row extends AnswerKey>(rows: readonly Row[]): Map<string, Row> => new Map(rows.map((row) => [nameOf(row), row]));
