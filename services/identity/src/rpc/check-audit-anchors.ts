import { operators, type RpcOf, ServiceError } from '@agent-service/contracts';
import type { IdentityContext } from '../context.ts';
import { checkAnchors } from '../store/audit-anchors.ts';

const mostAnchors = 200;

export const checkAuditAnchors = ({ store, auditKeys }: IdentityContext): RpcOf<'identity', 'checkAuditAnchors'> => ({
  allow: operators,
  async handle({ anchors }) {
    if (anchors.length > mostAnchors)
      throw new ServiceError('invalid_request', { message: `At most ${mostAnchors} anchors in a call.`, param: 'anchors' });
    const given = anchors.map(({ sequence, ...anchor }) => ({ ...anchor, sequence: Number(sequence) }));
    return { faults: await checkAnchors(store.sql, auditKeys, given) };
  },
});
