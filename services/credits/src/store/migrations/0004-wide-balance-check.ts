import { migration } from '@agent-service/store';

// The sum of a limit and a carry-over can exceed an integer. Every row that passed the narrow check passes this one.
const widen = `
  alter table user_accounts drop constraint user_accounts_balance_within_limit,
    add constraint user_accounts_balance_within_limit check (balance <= greatest(0, monthly_limit::bigint + carried - used - held));
`;

export const wideBalanceCheck = migration('0004-wide-balance-check', widen);
