import { isAmount, MAX_GRANT } from './amounts.ts';
import type { Operation } from './operations.ts';
import { areSettings } from './settings.ts';

/** The last guard before the ledger: whatever a caller let through, nothing but bounded integers moves credits. */
export function isValid(operation: Operation): boolean {
  switch (operation.kind) {
    case 'hold':
      return operation.id !== '' && operation.userId !== '' && isAmount(operation.amount) && Number.isSafeInteger(operation.deadline);
    case 'settle':
      return operation.id !== '' && isAmount(operation.amount);
    case 'release':
      return operation.id !== '';
    case 'grant':
      return operation.id !== '' && isAmount(operation.amount, 1, MAX_GRANT);
    case 'allocate':
      return operation.id !== '' && operation.userId !== '' && isAmount(operation.monthlyLimit);
    case 'settings':
      return operation.id !== '' && areSettings(operation.changes);
    case 'turn':
    case 'read':
      return operation.userId !== '';
  }
}
