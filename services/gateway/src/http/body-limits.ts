/** What a route takes as its body, judged before anything parses it. */
export interface BodyLimits {
  readonly bytes: number;
  /** How many names and values JSON may hold: what parsing, validating and comparing cost grows with these more than with bytes. */
  readonly values: number;
  /** How long the whole of it may take to arrive. */
  readonly withinMs: number;
}

const kibibyte = 1024;
const withinMs = 60_000;

export const bodyLimits = {
  /** Anyone may send these. */
  token: { bytes: 8 * kibibyte, values: 100, withinMs: 10_000 },
  /** For a few fields. */
  usual: { bytes: 64 * kibibyte, values: 1_000, withinMs },
  /** A text of 32,000 characters, and a context of 16 KiB which may be all numbers. */
  message: { bytes: 256 * kibibyte, values: 10_000, withinMs },
  /** Instructions of 32,000 characters and a scope of 200 tables with their columns. */
  agent: { bytes: 1024 * kibibyte, values: 1_000, withinMs },
} as const satisfies Record<string, BodyLimits>;

/** Where no body is known: an empty object, as many clients send. */
export const emptyBodyBytes = kibibyte;
