import { operators, type RpcOf } from '@agent-service/contracts';
import type { IdentityContext } from '../context.ts';
import { beginWalk, type ChainFault, type ChainWalk, isAppendOnly, nextOrganization, stepWalk } from '../store/audit-verify.ts';

/** A call verifies for so long at most, page by page, and says how to go on. */
const longestMs = 5_000;
const binding = ['audit-verify'];

/** The organization that was reached; its walk, while that is under way. */
interface Position {
  readonly organizationId: string;
  readonly walk?: ChainWalk | undefined;
}

export const verifyAuditChain = (context: IdentityContext): RpcOf<'identity', 'verifyAuditChain'> => ({
  allow: operators,
  async handle({ organizationId, cursor, maxMs }) {
    const { store, cursors } = context;
    const end = performance.now() + (maxMs > 0 ? Math.min(maxMs, longestMs) : longestMs);
    const steps: Step[] = [];
    let position: Position | undefined = fromCursor(cursors.decode(binding, cursor)?.after);
    while (position !== undefined && performance.now() < end) {
      const step: Step = await (position.walk ? goOn(context, position.walk) : beginNext(context, organizationId, position));
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

async function beginNext({ store, auditKeys }: IdentityContext, only: string, { organizationId }: Position): Promise<Step> {
  const alone = organizationId === '' ? only : undefined;
  const following = only ? alone : await nextOrganization(store.sql, organizationId);
  if (following === undefined) return { next: undefined, entries: 0, isBeginning: false };
  const walk = await beginWalk(store.sql, auditKeys, following);
  return { next: { organizationId: following, walk }, entries: 0, isBeginning: walk !== undefined };
}

async function goOn({ store, auditKeys }: IdentityContext, begun: ChainWalk): Promise<Step> {
  const { walk, isDone, fault } = await stepWalk(store.sql, auditKeys, begun);
  const next = { organizationId: walk.organizationId, walk: isDone ? undefined : walk };
  return { next, entries: walk.sequence - begun.sequence, isBeginning: false, fault };
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
