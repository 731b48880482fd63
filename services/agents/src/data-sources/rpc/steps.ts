import { type RpcOf, ServiceError, services } from '@agent-service/contracts';
import { toStorable } from '@agent-service/contracts/text';
import { checkAttempt } from '../../shared/answer.ts';
import type { ServiceDeps } from '../../shared/deps.ts';
import { findEarlierClaims, findLostClaim, reportLostClaims, writeStepEntry } from '../store/step-audit.ts';
import { claimStep, finishClaim, loadStepScope, lockStepScope, type StepChange, type StepScope } from '../store/steps.ts';

type StepDeps = Pick<ServiceDeps, 'store' | 'auditRelay' | 'now'>;
type AuthorizeRequest = Parameters<RpcOf<'agents', 'authorizeStep'>['handle']>[0];

/** Loads the scope before every step, so that a narrowed scope or a deleted agent takes effect on the next query. */
export const authorizeStep = ({ store, auditRelay, now }: StepDeps): RpcOf<'agents', 'authorizeStep'> => ({
  allow: services('answer-worker'),
  async handle({ answer, step, kind, description, change }, call) {
    const attempt = checkAttempt(answer);
    if (kind !== 'change') return toResponse(await loadStepScope(store.sql, attempt));
    const scope = await store.transaction(async ({ sql }) => {
      const changeScope = requireChangeAllowed(await lockStepScope(sql, attempt));
      const claim = await claimStep(sql, attempt, { step, ...boundChange({ description, change }) }, now());
      if (claim?.isNew) await writeStepEntry(sql, claim, { kind: 'started' }, now());
      if (!claim) await reportLostClaims(sql, await findEarlierClaims(sql, attempt), now());
      call.checkDeadline();
      return claim && changeScope;
    });
    auditRelay.nudge();
    if (!scope) throw new ServiceError('change_unfinished');
    return toResponse(scope);
  },
});

/** The audit log reports the outcome of a change once. */
export const finishStep = ({ store, auditRelay, now }: StepDeps): RpcOf<'agents', 'finishStep'> => ({
  allow: services('answer-worker'),
  async handle({ answer, step, rows, undone, unknown }) {
    const attempt = checkAttempt(answer);
    if (unknown) await reportLostClaims(store.sql, await findLostClaim(store.sql, { ...attempt, step }), now());
    else
      await store.transaction(async ({ sql }) => {
        const claim = await finishClaim(sql, { ...attempt, step, rows, undone }, now());
        if (claim) await writeStepEntry(sql, claim, undone ? { kind: 'undone' } : { kind: 'changed', rows }, now());
      });
    auditRelay.nudge();
    return {};
  },
});

function requireChangeAllowed(scope: StepScope | undefined): StepScope {
  if (!scope) throw new ServiceError('attempt_superseded');
  if (scope.readOnly) throw new ServiceError('invalid_request', { message: 'This agent may only read.' });
  if (!scope.isActive) throw new ServiceError('invalid_request', { message: 'This agent is not active and changes nothing.' });
  return scope;
}

function toResponse(scope: StepScope | undefined) {
  if (!scope) throw new ServiceError('attempt_superseded');
  const { tables, readOnly, sourceVersion } = scope;
  return { dataScope: { tables, readOnly }, sourceVersion };
}

const maxDescriptionLength = 500;
const maxTableLength = 200;
const maxKeysLength = 8_000;
const operations: readonly string[] = ['insert', 'update', 'delete'];

/** A worker's description of a change, within the limits of an audit entry and of what PostgreSQL can store. */
function boundChange({ description, change }: Pick<AuthorizeRequest, 'description' | 'change'>): StepChange {
  const { table = '', operation = '', rows = 0, keysJson = '' } = change ?? {};
  return {
    description: toStorable(description, maxDescriptionLength),
    table: toStorable(table, maxTableLength),
    operation: operations.includes(operation) ? operation : '',
    askedRows: Math.max(0, rows),
    keysJson: isKeyList(keysJson) ? keysJson : '',
  };
}

function isKeyList(json: string): boolean {
  if (json.length > maxKeysLength) return false;
  try {
    return Array.isArray(JSON.parse(json));
  } catch {
    return false;
  }
}
