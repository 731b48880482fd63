import { checkId, checkTenant } from '@agent-service/contracts';
import type { DispatchedKey } from '../store/queue.ts';

interface JobItem {
  delivery: { organizationId: string; environment: string; deliveryId: string } | null;
  dispatch: number;
}

export const toJob = ({ delivery, dispatch }: JobItem): DispatchedKey => ({
  ...checkTenant(delivery),
  deliveryId: checkId(delivery?.deliveryId ?? '', 'delivery_id'),
  dispatch,
});
