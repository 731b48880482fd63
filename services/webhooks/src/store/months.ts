import { createMonthPartitions, monthOf, type Store, startOfMonth } from '@agent-service/store';

const day = 24 * 3_600_000;
export const deliveriesKeptMs = 30 * day;
/** A delivery of the last day may still be tried for as long as the schedule and five Retry-After headers can take. */
export const eventsKeptMs = deliveriesKeptMs + 7 * day;

/** The tables of what has a lifetime: whole months are made ahead and dropped when their last day has outlived it. */
export interface Months {
  /** Resolves when what is written now has its partitions. Costs nothing once they are known. */
  ensure(now: number): Promise<void>;
  /** Drops what has outlived its time; answers with the names of the partitions. */
  drop(now: number): Promise<string[]>;
}

export function createMonths(store: Store): Months {
  // Deliveries are written again with each attempt, which changes no indexed column where the page has room.
  const deliveries = createMonthPartitions(store, 'deliveries', { before: 0, after: 1, fillfactor: 70 });
  const events = createMonthPartitions(store, 'events', { before: 0, after: 1 });
  return {
    async ensure(now) {
      // A relay may bring events that are as old as events get.
      await events.ensure(now - eventsKeptMs);
      await Promise.all([events.ensure(now), deliveries.ensure(now)]);
    },
    async drop(now) {
      return [...(await deliveries.drop(now, deliveriesKeptMs)), ...(await events.drop(now, eventsKeptMs))];
    },
  };
}

/** The month under which an event is kept; undefined for one that has outlived its time, or is far ahead of it. */
export function monthOfEvent(createdAt: string, now: number): string | undefined {
  const month = monthOf(new Date(createdAt).getTime());
  return month >= monthOf(now - eventsKeptMs) && month <= monthOf(now) + 1 ? startOfMonth(month).slice(0, 10) : undefined;
}

/** The name of a month among an endpoint's counts. */
export const nameOfMonth = (time: number): string => new Date(time).toISOString().slice(0, 7);

/** The first month whose deliveries are still shown, as its name and its first instant. */
export function firstShown(now: number): { readonly name: string; readonly start: string } {
  return { name: nameOfMonth(now - deliveriesKeptMs), start: startOfMonth(monthOf(now - deliveriesKeptMs)) };
}
