import { DataFailure, NotAdmitted } from '../database/failure.ts';
import type { Lender, Login } from '../database/lender.ts';
import { type Transactions, transactionsOn } from '../database/transaction.ts';
import type { ResolvedScope } from '../domain/scope.ts';
import type { Roles } from '../roles/roles.ts';

export const transactionsAs = (lender: Lender, login: Login): Transactions =>
  transactionsOn((limits, work) => lender.lend(login, limits, work));

/** Transactions of one scope, under its role where there is one. */
export const transactionsWithin = (lender: Lender, roles: Roles, scope: ResolvedScope): Transactions => ({
  async transaction(access, limits, work) {
    const first = await roles.standing(scope, access, limits.signal);
    try {
      return await transactionsAs(lender, first.login).transaction(access, limits, work);
    } catch (cause) {
      // Nothing of it was kept, so that it can be run once more.
      if (first.plan === undefined || !isAboutRole(cause)) throw cause;
      const second = await roles.again(first, cause, limits.signal);
      if (second === first) return deny(roles, first, cause);
      return await transactionsAs(lender, second.login)
        .transaction(access, limits, work)
        .catch((again: unknown) => deny(roles, second, again));
    }
  },
});

const denial = '42501';

const isAboutRole = (cause: unknown): cause is DataFailure =>
  cause instanceof NotAdmitted || (cause instanceof DataFailure && cause.sqlState === denial);

function deny(roles: Roles, standing: Parameters<Roles['denied']>[0], cause: unknown): never {
  if (cause instanceof DataFailure && cause.sqlState === denial) roles.denied(standing);
  throw cause;
}
