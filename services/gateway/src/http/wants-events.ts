import { parseWeighted, type Weighted } from './quality.ts';

interface Wish {
  readonly quality: number;
  /** 3 for the type itself, 1 for anything at all. */
  readonly precision: number;
}

/** Whether Accept prefers an event stream to JSON: a higher quality, or the same one and named more precisely. */
export function wantsEvents(accept: string | undefined): boolean {
  if (accept === undefined || !accept.toLowerCase().includes('event-stream')) return false;
  const members = parseWeighted(accept);
  const stream = wishFor('text/event-stream', members);
  const json = wishFor('application/json', members);
  if (stream.quality === 0 || stream.quality < json.quality) return false;
  return stream.quality > json.quality || stream.precision > json.precision;
}

/** The most precise member counts, whatever the others say. */
function wishFor(type: string, members: readonly Weighted[]): Wish {
  const ranges = ['*/*', `${type.split('/')[0]}/*`, type];
  return members.reduce<Wish>(
    (best, { value, quality }) => {
      const precision = ranges.indexOf(value) + 1;
      return precision > best.precision ? { quality, precision } : best;
    },
    { quality: 0, precision: 0 },
  );
}
