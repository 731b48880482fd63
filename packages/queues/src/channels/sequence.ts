import { LRUCache } from 'lru-cache';

/** A published parcel: the publisher, its sequence number on this channel, and the messages. */
export type Parcel<Message> = readonly [publisher: string, number: number, messages: readonly Message[]];

/** Each process has a new name, so the names that were unused the longest are forgotten. */
const maxKnown = 10_000;

/** Numbers the parcels of one publisher for each channel. */
export function createNumbering(): (channel: string) => number {
  const last = new LRUCache<string, number>({ max: maxKnown });
  return (channel) => {
    const number = (last.get(channel) ?? 0) + 1;
    last.set(channel, number);
    return number;
  };
}

/** Tells for each parcel if one before it is missing. A repeated one, which any client of Redis can send, is no gap. */
export function createGapDetector(): (publisher: string, number: number) => boolean {
  const last = new LRUCache<string, number>({ max: maxKnown });
  return (publisher, number) => {
    const before = last.get(publisher) ?? 0;
    last.set(publisher, Math.max(before, number));
    return number > before + 1;
  };
}
