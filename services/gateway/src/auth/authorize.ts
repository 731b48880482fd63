import { type Principal, type Scope, ServiceError, scopesOfRole } from '@agent-service/contracts';

export interface Needs {
  readonly scope?: Scope | undefined;
  readonly admin?: boolean | undefined;
}

/** Throws unless the caller may use the endpoint at all; decided before anything is looked up. */
export function authorize({ scope, admin }: Needs, principal: Principal): void {
  if (scope && !principal.scopes.includes(scope)) {
    throw new ServiceError('insufficient_scope', {
      message: whyLacking(scope, principal),
      details: { required: [scope], granted: principal.scopes },
    });
  }
  if (admin && !principal.admin) throw new ServiceError('admin_required');
}

/** Says which limit refused the caller: another key does not help a member, and another scope does not help a test key. */
function whyLacking(scope: Scope, { role, environment }: Principal): string {
  if (!scopesOfRole({ role, environment: 'live' }).includes(scope))
    return `Only administrators may do this: the user of this credential has the role member, which excludes the scope ${scope}.`;
  if (!scopesOfRole({ role, environment }).includes(scope))
    return `A credential of the test environment cannot change users, because they belong to both environments. Use a live one.`;
  return `The token lacks the scope ${scope}.`;
}
