import { endHold } from '../end-hold.ts';
import { voidHold } from '../holds.ts';
import type { ReleaseOperation } from '../operations.ts';
import { type Result, refuse } from '../results.ts';
import type { Workspace } from '../workspace.ts';

/** Frees a hold. An id that is not known is remembered, so that a Hold overtaken by its Release is never granted. */
export function release(work: Workspace, operation: ReleaseOperation): Result {
  const held = work.hold(operation.id);
  if (held === undefined) {
    work.saveHold(voidHold(operation.id, work.now));
    return { ok: true, kind: 'release', released: 0 };
  }
  switch (held.state) {
    case 'open':
      endHold(work, `release:${held.id}`, held, 0);
      work.saveHold({ ...held, state: 'released', endedAt: work.now });
      return { ok: true, kind: 'release', released: held.amount };
    case 'released':
      return { ok: true, kind: 'release', released: held.amount };
    case 'settled':
      return refuse('hold_settled');
    case 'refused':
    case 'void':
      return { ok: true, kind: 'release', released: 0 };
  }
}
