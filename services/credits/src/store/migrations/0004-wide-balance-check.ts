import { migration } from '@agent-service/store';

// A limit and what is carried on top of it exceed an integer together. Every row that the narrow check let in passes this one.
const widen = `
  alter table user_accounts drop constraint user_accounts_balance_within_limit,
    add constraint user_accounts_balance_within_limit check (balance <= greatest(0, monthly_limit::bigint + carried - used - held));
`;

export const wideBalanceCheck = migration('0004-wide-balance-check', widen);
