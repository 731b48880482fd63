/** A published parcel: the publisher, its sequence number on this channel, and the messages. */
export type Parcel<Message> = readonly [publisher: string, number: number, messages: readonly Message[]];

const maxKnown = 10_000;

/** Numbers the parcels of one publisher for each channel. */
export function createNumbering(): (channel: string) => number {
  const last = new Map<string, number>();
  return (channel) => {
    const number = (last.get(channel) ?? 0) + 1;
    remember(last, channel, number);
    return number;
  };
}

/** Tells for each parcel if one before it is missing. A publisher that starts again at 1 has missed none. */
export function createGapDetector(): (publisher: string, number: number) => boolean {
  const last = new Map<string, number>();
  return (publisher, number) => {
    const expected = (last.get(publisher) ?? 0) + 1;
    remember(last, publisher, number);
    return number !== expected && number !== 1;
  };
}

/** Forgets the name that was unused the longest, because each process has a new name. */
function remember(numbers: Map<string, number>, name: string, number: number): void {
  numbers.delete(name);
  numbers.set(name, number);
  if (numbers.size > maxKnown) numbers.delete(numbers.keys().next().value as string);
}
