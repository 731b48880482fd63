/** A limit as callers are told of it. */
export interface Policy {
  readonly name: string;
  readonly limit: number;
}

/** One counter that a request is held against. The keys of one request share a hash tag, for a Redis cluster. */
export interface Rule {
  readonly key: string;
  readonly policy: Policy;
  /** Must have room, and is left as it is: what the request comes to is counted later. */
  readonly onlyChecked?: boolean;
}

export interface Standing {
  readonly policy: Policy;
  readonly count: number;
  readonly resetMs: number;
}

export interface Decision {
  readonly allowed: boolean;
  readonly standings: readonly Standing[];
}

export interface Limiter {
  take(rules: readonly Rule[]): Promise<Decision>;
}

/** What is left of an allowance. */
export const remaining = ({ policy, count }: Standing): number => Math.max(0, policy.limit - count);

/** What decides the slot of these rules' keys in a Redis cluster. */
export function hashTag(rules: readonly Rule[]): string {
  const key = rules[0]?.key ?? '';
  return key.slice(key.indexOf('{'), key.indexOf('}'));
}
