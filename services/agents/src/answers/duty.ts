import { createBatcher, type ProcessContext } from '@agent-service/runtime';
import type { Background } from './background.ts';
import { type AnswerKey, nameOf } from './key.ts';

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
  /** Whether each is done with. */
  perform: (items: Item[]) => Promise<boolean[]>;
}

const maxItems = 200;
const batchesOut = 1;
/** Together shorter than the time after which a sweep takes it up. */
const pausesMs = [250, 750, 2_000, 4_000];

export function createDuty<Item extends AnswerKey>({ name, process, background, perform }: DutyOptions<Item>): Duty<Item> {
  const inHand = new Set<string>();
  let waiting: (() => void)[] = [];
  const batcher = createBatcher<Item, boolean>({ run: attempt, maxItems, concurrency: batchesOut });

  async function attempt(items: Item[]): Promise<boolean[]> {
    try {
      return await perform(items);
    } catch (cause) {
      process.logger.warn({ event: 'duty_failed', duty: name, answers: items.length, err: cause });
      return items.map(() => false);
    }
  }

  async function see(item: Item): Promise<void> {
    for (const pauseMs of [...pausesMs, 0]) {
      const done = await batcher.add(item);
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
