import { type Principal, type Scope, ServiceError } from '@agent-service/contracts';

export interface Needs {
  readonly scope?: Scope | undefined;
  readonly admin?: boolean | undefined;
}

/** Throws unless the caller may use the endpoint at all; decided before anything is looked up. */
export function authorize({ scope, admin }: Needs, principal: Principal): void {
  if (scope && !principal.scopes.includes(scope)) {
    throw new ServiceError('insufficient_scope', {
      message: `The token lacks the scope ${scope}.`,
      details: { required: [scope], granted: principal.scopes },
    });
  }
  if (admin && !principal.admin) throw new ServiceError('admin_required');
}
