import { DataFailure, NotAdmitted } from '../database/failure.ts';
import type { Lender, Login } from '../database/lender.ts';
import type { RolePlan } from '../domain/role-plan.ts';
import { refusalOf } from './admit.ts';
import { dropStaleRoles } from './drop-roles.ts';
import { type Ensured, ensureRole } from './ensure-role.ts';

/** A role, and how one logs in as it. */
export interface RoleLogin extends Login {
  readonly plan: RolePlan;
  readonly password: string;
}

/** Whether a role can be used; the reason when it can not. */
export interface Outcome {
  readonly reason: string | undefined;
  /** What stood in the way passes by itself: a lock, a limit of time. */
  readonly isPassing: boolean;
}

export interface Preparation {
  /** Makes the role, or sees that it is as it should be, and logs in once. Throws where the data source is away: that is no reason. */
  prepare(login: RoleLogin): Promise<Outcome>;
  /** Resolves when nothing goes on in the background any more. */
  settled(): Promise<void>;
}

export interface PreparationOptions {
  readonly account: Login;
  readonly lender: Lender;
  readonly onLeft: (family: string, reason: string) => void;
}

const limits = { timeoutMs: 10_000 };
const passing = /^(40|55P03|57014|XX000)/;

export function createPreparation({ account, lender, onLeft }: PreparationOptions): Preparation {
  const chores = new Set<Promise<void>>();

  /** A password that is not the role's any more is given to it again, once. */
  async function outcomeOf(login: RoleLogin): Promise<Outcome> {
    for (const anew of [false, true]) {
      const made = await ensure(login, anew);
      if (!made.made) return { reason: made.reason, isPassing: made.isCrowded };
      try {
        const reason = await lender.lend(login, limits, (client) => refusalOf(client, login.plan));
        return { reason, isPassing: false };
      } catch (cause) {
        if (!(cause instanceof NotAdmitted)) throw cause;
      }
    }
    return { reason: 'the data source does not let its roles log in', isPassing: false };
  }

  async function ensure(login: RoleLogin, anew: boolean): Promise<Ensured> {
    const { plan, password } = login;
    const made = await lender.lend(account, limits, (client) => ensureRole(client, plan, password, { anew }));
    // Who is logged in already is one that is not there any more.
    if (made.made && made.created) lender.renew(login);
    if (made.made ? made.changed : made.isCrowded) tidyUp(plan, !made.made);
    return made;
  }

  /** Beside the work: nobody waits for it, and what is left is tried again another day. */
  function tidyUp(plan: RolePlan, isCrowded: boolean): void {
    const chore = lender
      .lend(account, limits, (client) => dropStaleRoles(client, plan, isCrowded))
      .then(({ left }) => (left > 0 ? onLeft(plan.family, `${left} unused roles could not be dropped`) : undefined))
      .catch((cause: DataFailure) => {
        // That the source is away is no news about roles, and whoever asks it something hears it too.
        if (cause.kind !== 'unavailable') onLeft(plan.family, cause.message);
      })
      .finally(() => chores.delete(chore));
    chores.add(chore);
  }

  return {
    async prepare(login) {
      try {
        return await outcomeOf(login);
      } catch (cause) {
        if (!(cause instanceof DataFailure) || cause.kind === 'unavailable') throw cause;
        const isPassing = passing.test(cause.sqlState ?? '');
        return { reason: `the data source would not make it (${cause.sqlState ?? cause.kind})`, isPassing };
      }
    },
    settled: async () => void (await Promise.all(chores)),
  };
}
