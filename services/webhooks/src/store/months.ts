import { createMonthPartitions, monthOf, type Store, startOfMonth } from '@agent-service/store';

const day = 24 * 3_600_000;
export const deliveriesRetainedMs = 30 * day;
/** A delivery of the last day may be retried for as long as the schedule with five Retry-After headers takes. */
const eventsRetainedMs = deliveriesRetainedMs + 7 * day;

/** The monthly partitions of events and deliveries. They are created ahead, and dropped when their last day is no longer retained. */
export interface Months {
  /** Creates the partitions of this month and the next, and of the oldest events that are received. Costs a look-up of each in a minute once they exist. */
  ensure(now: number): Promise<void>;
  /** Creates only what deliveries and events of these times need now: creating another partition may wait for a lock, such as that of an ANALYZE. */
  ensureCurrent(now: number, eventsAt?: readonly number[]): Promise<void>;
  /** Drops partitions that are no longer retained; resolves to their names. */
  drop(now: number): Promise<string[]>;
}

export function createMonths(store: Store): Months {
  // Each attempt updates its delivery, which needs no new index entry where the page has room.
  const deliveries = createMonthPartitions(store, 'deliveries', { before: 0, after: 1, fillfactor: 70 });
  const events = createMonthPartitions(store, 'events', { before: 0, after: 1 });
  return {
    async ensure(now) {
      // A relay may bring events of the first month that can be sent.
      await events.ensure(now - deliveriesRetainedMs);
      await Promise.all([events.ensure(now), deliveries.ensure(now)]);
    },
    async ensureCurrent(now, eventsAt = [now]) {
      for (const at of eventsAt) await events.ensureCurrent(at);
      await deliveries.ensureCurrent(now);
    },
    async drop(now) {
      return [...(await deliveries.drop(now, deliveriesRetainedMs)), ...(await events.drop(now, eventsRetainedMs))];
    },
  };
}

/** The first month whose deliveries are listed and whose events are sent: events of an earlier month could be dropped before the last retry. */
const firstMonth = (now: number): number => monthOf(now - deliveriesRetainedMs);

/** A month as the column events.month has it: its first day. */
export const toMonthColumn = (month: number): string => startOfMonth(month).slice(0, 10);

export const firstSendableMonth = (now: number): string => toMonthColumn(firstMonth(now));

/** The month of an event's partition; undefined for an event that is too old to be sent, or dated too far ahead. */
export function monthOfEvent(createdAt: string, now: number): string | undefined {
  const month = monthOf(new Date(createdAt).getTime());
  return month >= firstMonth(now) && month <= monthOf(now) + 1 ? toMonthColumn(month) : undefined;
}

/** The key of a month in a webhook's counts. */
export const nameOfMonth = (time: number): string => new Date(time).toISOString().slice(0, 7);

/** The first month whose deliveries are listed, as its name and its first instant. */
export function firstListedMonth(now: number): { readonly name: string; readonly start: string } {
  return { name: nameOfMonth(now - deliveriesRetainedMs), start: startOfMonth(firstMonth(now)) };
}
