interface Wish {
  readonly quality: number;
  /** 3 for the type itself, 1 for anything at all. */
  readonly precision: number;
}

/** True if Accept prefers an event stream to JSON: a higher quality, or the same one and named more precisely. */
export function wantsEvents(accept: string | undefined): boolean {
  if (accept === undefined || !accept.toLowerCase().includes('event-stream')) return false;
  const members = parseWeighted(accept);
  const stream = wishFor('text/event-stream', members);
  const json = wishFor('application/json', members);
  if (stream.quality === 0 || stream.quality < json.quality) return false;
  return stream.quality > json.quality || stream.precision > json.precision;
}

/** The most precise member counts, and overrides the others. */
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

/** One member of a header like Accept: its value in lower case, its parameters left out, and how much it is wanted. */
interface Weighted {
  readonly value: string;
  readonly quality: number;
}

const quality = /^\s*q\s*=\s*(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)\s*$/i;

/** The members of a weighted list (RFC 9110, section 12.4.2). A member with a malformed quality is ignored. */
function parseWeighted(header: string): Weighted[] {
  return header.split(',').flatMap((member) => {
    const [value = '', ...parameters] = member.split(';');
    const weight = parameters.find((parameter) => /^\s*q\s*=/i.test(parameter));
    const digits = weight === undefined ? '1' : quality.exec(weight)?.[1];
    return digits === undefined || value.trim() === '' ? [] : [{ value: value.trim().toLowerCase(), quality: Number(digits) }];
  });
}

/** True if Prefer asks not to wait (RFC 7240, section 4.1). */
export const prefersAsync = (prefer: string | undefined): boolean =>
  prefer?.split(',').some((preference) => preference.split(';')[0]?.trim().toLowerCase() === 'respond-async') ?? false;

/** The seconds that Prefer asks to wait (RFC 7240, section 4.3); undefined where it asks for none. A malformed preference is ignored. */
export function preferredWait(prefer: string | undefined): number | undefined {
  const wait = prefer?.split(',').map((preference) => /^\s*wait\s*=\s*"?(\d{1,4})"?\s*(?:;|$)/i.exec(preference)?.[1]);
  const seconds = Number(wait?.find((value) => value !== undefined) ?? 0);
  return seconds > 0 ? seconds : undefined;
}
