import { operators, type RpcOf, ServiceError } from '@agent-service/contracts';
import type { IdentityDeps } from '../deps.ts';
import {
  beginWalk,
  type ChainFault,
  type ChainWalk,
  checkAnchors,
  isAppendOnly,
  listAnchors,
  nextOrganization,
  stepWalk,
} from '../store/audit-verify.ts';

/** A call verifies for at most this long, page by page; its cursor continues the verification. After a second another replica would do the same. */
const maxMsOfCall = 700;
const binding = ['audit-verify'];

/** The current organization, and its walk if that has begun. */
interface Position {
  readonly organizationId: string;
  readonly walk?: ChainWalk | undefined;
}

export const verifyAuditChain = (deps: IdentityDeps): RpcOf<'identity', 'verifyAuditChain'> => ({
  allow: operators,
  async handle({ organizationId, cursor, maxMs }) {
    const { store, cursors } = deps;
    const end = performance.now() + (maxMs > 0 ? Math.min(maxMs, maxMsOfCall) : maxMsOfCall);
    const steps: Step[] = [];
    let position: Position | undefined = fromCursor(cursors.decode(binding, cursor)?.after);
    while (position !== undefined && performance.now() < end) {
      const step: Step = await (position.walk ? continueWalk(deps, position.walk) : beginNext(deps, organizationId, position));
      steps.push(step);
      position = step.next;
    }
    return {
      organizations: steps.filter(({ isBeginning }) => isBeginning).length,
      entries: steps.reduce((sum, step) => sum + step.entries, 0),
      faults: steps.flatMap(({ fault }) => fault ?? []),
      nextCursor: position ? cursors.encode(binding, { after: toCursor(position) }) : '',
      appendOnly: await isAppendOnly(store.sql),
    };
  },
});

interface Step {
  /** Undefined after the last organization. */
  readonly next: Position | undefined;
  readonly entries: number;
  readonly isBeginning: boolean;
  readonly fault?: ChainFault | undefined;
}

async function beginNext({ store, auditKeys }: IdentityDeps, requestedId: string, { organizationId }: Position): Promise<Step> {
  const requested = organizationId === '' ? requestedId : undefined;
  const following = requestedId ? requested : await nextOrganization(store.sql, organizationId);
  if (following === undefined) return { next: undefined, entries: 0, isBeginning: false };
  const walk = await beginWalk(store.sql, auditKeys, following);
  return { next: { organizationId: following, walk }, entries: 0, isBeginning: walk !== undefined };
}

async function continueWalk({ store, auditKeys }: IdentityDeps, previous: ChainWalk): Promise<Step> {
  const { walk, isDone, fault } = await stepWalk(store.sql, auditKeys, previous);
  const next = { organizationId: walk.organizationId, walk: isDone ? undefined : walk };
  return { next, entries: walk.sequence - previous.sequence, isBeginning: false, fault };
}

const toCursor = ({ organizationId, walk }: Position): (string | number)[] =>
  walk
    ? [organizationId, walk.sequence, walk.previous, walk.version, walk.length, walk.head, walk.headFault, walk.headFaultAt]
    : [organizationId];

function fromCursor(after: readonly (string | number)[] = ['']): Position {
  const [organizationId, ...walk] = after as [string, ...(string | number)[]];
  if (walk.length === 0) return { organizationId };
  const [sequence, previous, version, length, head, headFault, headFaultAt = length + 1] = walk as [
    number,
    string,
    number,
    number,
    string,
    string,
    number?,
  ];
  return { organizationId, walk: { organizationId, sequence, previous, version, length, head, headFault, headFaultAt } };
}

export const listAuditAnchors = ({ store, auditKeys }: IdentityDeps): RpcOf<'identity', 'listAuditAnchors'> => ({
  allow: operators,
  async handle({ organizationId, after }) {
    const { after: nextAfter, ...page } = await listAnchors(store.sql, auditKeys, organizationId, after);
    return { ...page, nextAfter };
  },
});

const maxAnchors = 200;

export const checkAuditAnchors = ({ store, auditKeys }: IdentityDeps): RpcOf<'identity', 'checkAuditAnchors'> => ({
  allow: operators,
  async handle({ anchors }) {
    if (anchors.length > maxAnchors)
      throw new ServiceError('invalid_request', { message: `At most ${maxAnchors} anchors in a call.`, param: 'anchors' });
    const signed = anchors.map(({ sequence, ...anchor }) => ({ ...anchor, sequence: Number(sequence) }));
    return { faults: await checkAnchors(store.sql, auditKeys, signed) };
  },
});
