import { processClock } from '@agent-service/runtime';

/** A window begins with the first request that it counts. */
export const windowMs = 60_000;

/** A limit as its headers name it. */
export interface Policy {
  readonly name: string;
  readonly limit: number;
}

/** A counter that limits a request. The keys of one request share a hash tag, for a Redis cluster. */
export interface Rule {
  readonly key: string;
  readonly policy: Policy;
  /** Must have room, but does not count this request: it is counted by a later rule. */
  readonly onlyChecked?: boolean;
}

export interface LimitState {
  readonly policy: Policy;
  readonly count: number;
  /** When its window ends, on the monotonic clock: a request may wait for long between its decision and its reply. */
  readonly endsAtMs: number;
}

export interface Decision {
  readonly allowed: boolean;
  readonly states: readonly LimitState[];
}

export interface Limiter {
  take(rules: readonly Rule[]): Promise<Decision>;
}

/** Requests that the limit allows at this time, on the monotonic clock. */
export const remaining = ({ policy, count, endsAtMs }: LimitState, atMs: number): number =>
  endsAtMs > atMs ? Math.max(0, policy.limit - count) : policy.limit;

const leftMs = ({ endsAtMs }: LimitState, atMs: number): number => Math.max(0, endsAtMs - atMs);

/** The part of these rules' keys that decides their slot in a Redis cluster. */
export function hashTag(rules: readonly Rule[]): string {
  const key = rules[0]?.key ?? '';
  return key.slice(key.indexOf('{'), key.indexOf('}'));
}

const policyTexts = new WeakMap<Policy, string>();

/** The limits as headers, names and values in turn: the IETF draft's for every limit, and X-RateLimit-* for the nearest. */
export function limitHeaders({ states }: Decision, nowMs: number = processClock.now(), atMs: number = performance.now()): string[] {
  let nearest = states[0] as LimitState;
  let [policies, rests, separator] = ['', '', ''];
  for (const state of states) {
    if (remaining(state, atMs) < remaining(nearest, atMs)) nearest = state;
    policies += separator + policyText(state.policy);
    rests += `${separator}"${state.policy.name}";r=${remaining(state, atMs)};t=${seconds(leftMs(state, atMs))}`;
    separator = ', ';
  }
  return [
    'RateLimit-Policy',
    policies,
    'RateLimit',
    rests,
    'X-RateLimit-Limit',
    String(nearest.policy.limit),
    'X-RateLimit-Remaining',
    String(remaining(nearest, atMs)),
    'X-RateLimit-Reset',
    String(seconds(nowMs + leftMs(nearest, atMs))),
  ];
}

/** How long a refused caller has to wait until every exhausted limit has room again. */
export function retryAfterSeconds({ states }: Decision, atMs: number = performance.now()): number {
  const exhausted = states.filter((state) => remaining(state, atMs) === 0);
  return Math.max(1, ...exhausted.map((state) => seconds(leftMs(state, atMs))));
}

const seconds = (ms: number) => Math.ceil(ms / 1_000);

function policyText(policy: Policy): string {
  const text = policyTexts.get(policy) ?? `"${policy.name}";q=${policy.limit};w=${windowMs / 1_000}`;
  policyTexts.set(policy, text);
  return text;
}
