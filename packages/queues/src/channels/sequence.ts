/** What travels: who publishes, the how-manieth of theirs on this channel, and the messages. */
export type Parcel<Message> = readonly [publisher: string, number: number, messages: readonly Message[]];

const maxKnown = 10_000;

/** Numbers the parcels of one publisher, a channel at a time. */
export function createNumbering(): (channel: string) => number {
  const last = new Map<string, number>();
  return (channel) => {
    const number = (last.get(channel) ?? 0) + 1;
    remember(last, channel, number);
    return number;
  };
}

/** Says of each parcel whether one before it is missing. A publisher that begins again at 1 is a new beginning. */
export function createGapDetector(): (publisher: string, number: number) => boolean {
  const last = new Map<string, number>();
  return (publisher, number) => {
    const expected = (last.get(publisher) ?? 0) + 1;
    remember(last, publisher, number);
    return number !== expected && number !== 1;
  };
}

/** The longest unused is forgotten: processes come and go under new names. */
function remember(numbers: Map<string, number>, name: string, number: number): void {
  numbers.delete(name);
  numbers.set(name, number);
  if (numbers.size > maxKnown) numbers.delete(numbers.keys().next().value as string);
}
