import { type Client, ServiceError } from '@agent-service/contracts';

type TenantMessage = { organizationId?: string | undefined; environment?: string | undefined } | null | undefined;
type Request<Method extends keyof Client<'credits'>> = Parameters<Client<'credits'>[Method]>[0];

interface LedgerHold {
  organizationId: string;
  state: 'open' | 'settled' | 'released' | 'void';
  deadline: number;
  /** How often an open hold was ended: more than once would be a mistake of the ledger's script. */
  ended: number;
  charged: number;
}

/** How the ledger behaves: `lost` does what it is asked and then fails to say so. */
type LedgerMood = 'well' | 'away' | 'lost';

/** A peer that keeps holds as credits does, counts, and can be made to fail. */
export interface ScriptedLedger {
  readonly client: Client<'credits'>;
  readonly holds: Map<string, LedgerHold>;
  readonly calls: { hold: number; settle: number; release: number };
  mood: LedgerMood;
  /** The code that the next holds are refused with; with `idempotency_conflict` they exist, as a replica with other prices has made them. */
  refuse: 'credits_exhausted' | 'user_limit_reached' | 'idempotency_conflict' | undefined;
  /** Operations on this hold fail, and are undecided. */
  poison: string | undefined;
  /** Runs before holds are made. */
  onHold: ((holdIds: readonly (string | undefined)[]) => Promise<void>) | undefined;
  /** Settlements and releases of these tenants get no answer until then, and fail. */
  silent: { of(organizationId: string): boolean; until: Promise<void> } | undefined;
}

export const charge = 2;
const graceMs = 60_000;

export function scriptedLedger(now: () => number): ScriptedLedger {
  const holds = new Map<string, LedgerHold>();
  const calls = { hold: 0, settle: 0, release: 0 };
  const refusal = (code: string, shortage: object | null = null) => ({ refusal: { code, shortage } });

  async function answer<T>(work: () => T): Promise<T> {
    await new Promise(setImmediate);
    if (ledger.mood === 'away') throw new ServiceError('unavailable');
    const result = work();
    if (ledger.mood === 'lost') throw new ServiceError('deadline_exceeded');
    return result;
  }

  const decideEach = <Item extends { holdId?: string }>(items: readonly Item[], decide: (item: Item) => object) =>
    items.map((item) => (item.holdId === ledger.poison ? refusal('internal') : decide(item)));

  const open = (tenant: TenantMessage, deadline: number): LedgerHold => ({
    organizationId: tenant?.organizationId ?? '',
    state: 'open',
    deadline,
    ended: 0,
    charged: 0,
  });

  function decideHold({ tenant, holdId = '', deadlineMs }: NonNullable<Request<'hold'>['items']>[number]): object {
    const known = holds.get(holdId);
    if (known?.state === 'void') return refusal('hold_released');
    if (known) return { held: 4 };
    if (ledger.refuse !== undefined && ledger.refuse !== 'idempotency_conflict')
      return refusal(ledger.refuse, { required: '4', available: '1' });
    holds.set(holdId, open(tenant, Number(deadlineMs)));
    return ledger.refuse ? refusal(ledger.refuse) : { held: 4 };
  }

  async function silence(items: readonly { tenant?: TenantMessage }[]): Promise<void> {
    const { silent } = ledger;
    if (!silent || !items.some(({ tenant }) => silent.of(tenant?.organizationId ?? ''))) return;
    await silent.until;
    throw new ServiceError('deadline_exceeded');
  }

  const client = {
    isReachable: () => ledger.mood !== 'away',
    async hold({ items = [] }: Request<'hold'>) {
      await ledger.onHold?.(items.map(({ holdId }) => holdId));
      return await answer(() => {
        calls.hold += 1;
        return { results: decideEach(items, decideHold) };
      });
    },
    async settle({ items = [] }: Request<'settle'>) {
      await silence(items);
      return await answer(() => {
        calls.settle += 1;
        const results = decideEach(items, ({ holdId = '', amount = charge }) => {
          const known = holds.get(holdId);
          if (known?.state === 'released') return refusal('hold_released');
          if (known === undefined || known.state === 'void') return refusal('hold_not_found');
          if (known.state === 'open') Object.assign(known, { state: 'settled', ended: known.ended + 1, charged: amount });
          return { charged: known.charged };
        });
        return { results };
      });
    },
    async release({ items = [] }: Request<'release'>) {
      await silence(items);
      return await answer(() => {
        calls.release += 1;
        const results = decideEach(items, ({ tenant, holdId = '' }) => {
          const known = holds.get(holdId);
          if (known?.state === 'settled') return refusal('hold_settled');
          if (known === undefined) holds.set(holdId, { ...open(tenant, 0), state: 'void' });
          if (known?.state === 'open') Object.assign(known, { state: 'released', ended: known.ended + 1 });
          return { released: 4 };
        });
        return { results };
      });
    },
    listOverdueHolds: ({ page }: Request<'listOverdueHolds'>) =>
      answer(() => {
        const limit = page?.limit || 100;
        const after = [...holds.keys()].indexOf(page?.cursor ?? '');
        const overdue = [...holds].slice(after + 1).filter(([, hold]) => hold.state === 'open' && hold.deadline + graceMs <= now());
        return {
          holds: overdue.slice(0, limit).map(([holdId, hold]) => ({
            tenant: { organizationId: hold.organizationId, environment: 'live' },
            holdId,
            userId: 'usr_1',
            amount: 4,
            deadlineMs: String(hold.deadline),
          })),
          nextCursor: overdue.length > limit ? (overdue[limit - 1]?.[0] ?? '') : '',
        };
      }),
  };
  const ledger: ScriptedLedger = {
    client: client as unknown as Client<'credits'>,
    holds,
    calls,
    mood: 'well',
    refuse: undefined,
    poison: undefined,
    onHold: undefined,
    silent: undefined,
  };
  return ledger;
}
