import { ServiceError } from '@agent-service/contracts';
import type { Health } from '@agent-service/runtime';
import { jsonReply } from '../http/reply.ts';
import type { Page } from './page.ts';

/** Every part that a request needs can serve; otherwise a 503 that names what can not. */
export const readyz = (health: Health): Page => ({
  path: '/readyz',
  async answer() {
    const { ready, faults } = await health.report();
    if (!ready) throw new ServiceError('unavailable', { message: 'The service is not ready.', details: { faults } });
    return jsonReply(200, { status: 'ready' });
  },
});
