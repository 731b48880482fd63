import type { ProcessContext } from '@agent-service/runtime';
import { createBatcher, type SlowTenants } from '@agent-service/work';
import type { Background } from './background.ts';
import { type AnswerKey, nameOf } from './key.ts';
import { isolation } from './lanes.ts';

/** What is owed elsewhere for answers: done at once, tried again for a while, and then left for the sweep. */
export interface Duty<Item extends AnswerKey> {
  add(items: readonly Item[]): void;
  /** How many are being seen to. */
  readonly inHand: number;
  /** Resolves when fewer than this many are. */
  whenBelow(count: number): Promise<void>;
}

export interface DutyOptions<Item> {
  name: string;
  background: Background;
  process: Pick<ProcessContext, 'logger' | 'stopping'>;
  slowTenants: SlowTenants;
  /** Whether each is done with; an Error where it is to be tried alone. */
  perform: (items: Item[]) => Promise<(boolean | Error)[]>;
}

const maxItems = 200;
/** Together shorter than the time after which a sweep takes it up. */
const pausesMs = [250, 750, 2_000, 4_000];

export function createDuty<Item extends AnswerKey>({ name, process, background, slowTenants, perform }: DutyOptions<Item>): Duty<Item> {
  const inHand = new Set<string>();
  let waiting: (() => void)[] = [];
  const batcher = createBatcher<Item, boolean>({ run: perform, maxItems, onFailure, ...isolation<Item>({ slowTenants }) });

  function onFailure(items: Item[], cause: unknown): void {
    const [first] = items;
    const at = { answers: items.length, answer_id: first?.id, organization_id: first?.organizationId };
    process.logger.warn({ event: 'duty_failed', duty: name, ...at, err: cause });
  }

  async function see(item: Item): Promise<void> {
    for (const pauseMs of [...pausesMs, 0]) {
      const done = await batcher.add(item).catch(() => false);
      if (done || process.stopping.aborted) return;
      await pause(pauseMs, process.stopping);
    }
  }

  function release(item: Item): void {
    inHand.delete(nameOf(item));
    const woken = waiting;
    waiting = [];
    for (const wake of woken) wake();
  }

  const all = (items: readonly Item[]) => Promise.all(items.map((item) => see(item).finally(() => release(item))));

  return {
    add(items) {
      const fresh = items.filter((item) => !inHand.has(nameOf(item)));
      for (const item of fresh) inHand.add(nameOf(item));
      if (fresh.length > 0) background.run(name, () => all(fresh));
    },
    get inHand() {
      return inHand.size;
    },
    async whenBelow(count) {
      while (inHand.size >= count) await new Promise<void>((resolve) => void waiting.push(resolve));
    },
  };
}

function pause(ms: number, stopping: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      stopping.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    stopping.addEventListener('abort', end, { once: true });
  });
}
