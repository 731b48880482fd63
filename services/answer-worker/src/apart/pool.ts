import type { Company } from '../answers/answers-api.ts';
import type { ApartProcess } from './process.ts';

/** A process and what runs in it. It never runs answers of both kinds at the same time. */
export interface Place {
  readonly process: ApartProcess;
}

export interface Places {
  /** Waits for a place in a process; undefined where `stopping` aborts first. */
  take(company: Company, stopping: AbortSignal): Promise<Place | undefined>;
  leave(place: Place): void;
  /** Ends all processes, when they have handed back what they run. */
  end(): Promise<void>;
}

export interface PlacesOptions {
  readonly start: () => ApartProcess;
  readonly processes: number;
  /** How many answers share a process. */
  readonly shared: number;
  /** A process that has run nothing for so long ends. */
  readonly idleMs: number;
}

interface Used extends Place {
  company: Company;
  running: number;
  /** It takes no more until it is empty, so that an answer that runs alone gets it. */
  closed: boolean;
  /** It has been told to end, and counts until it has. */
  ending: boolean;
  idle: NodeJS.Timeout | undefined;
}

/** Spreads answers over a bounded number of processes, so that neither kind of answer waits for the other kind to run out. */
export function createPlaces({ start, processes, shared, idleMs }: PlacesOptions): Places {
  const all = new Set<Used>();
  const waiting: Record<Company, ((place: Place) => void)[]> = { alone: [], shared: [] };
  let last: Company = 'alone';

  const using = (company: Company) => [...all].filter((place) => place.running > 0 && place.company === company);
  const emptiestShared = (below: number) =>
    using('shared')
      .filter(({ closed, running }) => !closed && running < below)
      .sort((one, other) => one.running - other.running)[0];

  function open(): Used {
    const empty = [...all].find(({ running, ending }) => running === 0 && !ending);
    if (empty) return empty;
    const place: Used = { process: start(), company: 'alone', running: 0, closed: false, ending: false, idle: undefined };
    all.add(place);
    void place.process.gone.then(() => {
      all.delete(place);
      clearTimeout(place.idle);
      assign();
    });
    return place;
  }

  /** Few share a process while there are others; the last one is left for an answer that runs alone. */
  function find(company: Company): Used | undefined {
    const unused = processes - [...all].filter(({ running, ending }) => running > 0 || ending).length;
    const room = company === 'shared' && unused <= 1 ? emptiestShared(shared) : undefined;
    return room ?? (unused > 0 ? open() : undefined);
  }

  /** The kind that has fewer processes goes first; where they have as many, they take turns. */
  function order(): Company[] {
    const more = using('shared').length - using('alone').length;
    return more > 0 || (more === 0 && last === 'shared') ? ['alone', 'shared'] : ['shared', 'alone'];
  }

  function assignOne(): boolean {
    for (const company of order()) {
      const place = waiting[company].length > 0 ? find(company) : undefined;
      if (!place) continue;
      clearTimeout(place.idle);
      Object.assign(place, { company, running: place.running + 1 });
      last = company;
      waiting[company].shift()?.(place);
      return true;
    }
    return false;
  }

  function assign(): void {
    while (assignOne());
    if (waiting.alone.length === 0 || using('alone').length > 0 || [...all].some(({ closed }) => closed)) return;
    const emptiest = emptiestShared(Number.POSITIVE_INFINITY);
    if (emptiest) emptiest.closed = true;
  }

  return {
    async take(company, stopping) {
      if (stopping.aborted) return undefined;
      const { promise, resolve } = Promise.withResolvers<Place | undefined>();
      const giveUp = () => {
        const index = waiting[company].indexOf(resolve);
        if (index >= 0) waiting[company].splice(index, 1);
        resolve(undefined);
      };
      stopping.addEventListener('abort', giveUp, { once: true });
      waiting[company].push(resolve);
      assign();
      try {
        return await promise;
      } finally {
        stopping.removeEventListener('abort', giveUp);
      }
    },
    leave(given) {
      const place = given as Used;
      place.running -= 1;
      if (place.running > 0 || !all.has(place)) return assign();
      place.closed = false;
      place.idle = setTimeout(() => {
        place.ending = true;
        void place.process.end();
      }, idleMs).unref();
      assign();
    },
    async end() {
      await Promise.all(Array.from(all, ({ process }) => process.end()));
    },
  };
}
