import { ServiceError } from '../errors/service-error.ts';
import { type Caller, operatorService, type Scope } from './principal.ts';

/** Who may call a method. Everything not named is refused. */
export interface Policy {
  readonly services: readonly string[];
  /** Needed from the caller that a service acts for; of several any one. */
  readonly scope?: Scope | readonly Scope[];
  readonly admin?: boolean;
  /** Also callers with an agent token, whose agent the method checks. */
  readonly agentTokens?: boolean;
}

/** For callers of the public API, through the gateway. */
export const callers = (needs: Omit<Policy, 'services'> = {}): Policy => ({ services: ['gateway'], ...needs });
/** For callers with the scope, and for the operator. */
export const callersAndOperators = (needs: Pick<Policy, 'scope' | 'admin'> = {}): Policy => ({
  services: ['gateway', operatorService],
  ...needs,
});
export const operators: Policy = { services: [operatorService] };
/** For these services themselves, without a principal. */
export const services = (...names: string[]): Policy => ({ services: names });

/** Throws when the policy does not let this caller in. The gateway checks first; this check does not rely on it. */
export function enforce(policy: Policy, caller: Caller): void {
  if (!policy.services.includes(caller.service)) throw new ServiceError('service_forbidden');
  if (caller.service === operatorService) return;
  if (policy.scope !== undefined && !hasOneOf(policy.scope, caller)) throw new ServiceError('insufficient_scope');
  if (caller.principal?.agentId && !policy.agentTokens) throw new ServiceError('wrong_audience');
  if (policy.admin && !caller.principal?.admin) throw new ServiceError('admin_required');
}

function hasOneOf(scope: Scope | readonly Scope[], { principal }: Caller): boolean {
  if (typeof scope === 'string') return principal?.scopes.includes(scope) ?? false;
  return scope.some((each) => principal?.scopes.includes(each));
}
