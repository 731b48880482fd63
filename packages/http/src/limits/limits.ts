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
  readonly resetMs: number;
}

export interface Decision {
  readonly allowed: boolean;
  readonly states: readonly LimitState[];
}

export interface Limiter {
  take(rules: readonly Rule[]): Promise<Decision>;
}

/** Requests that the limit still allows in this window. */
export const remaining = ({ policy, count }: LimitState): number => Math.max(0, policy.limit - count);

/** The part of these rules' keys that decides their slot in a Redis cluster. */
export function hashTag(rules: readonly Rule[]): string {
  const key = rules[0]?.key ?? '';
  return key.slice(key.indexOf('{'), key.indexOf('}'));
}

const policyTexts = new WeakMap<Policy, string>();

/** The limits as headers, names and values in turn: the IETF draft's for every limit, and X-RateLimit-* for the nearest. */
export function limitHeaders({ states }: Decision, nowMs: number = processClock.now()): string[] {
  let nearest = states[0] as LimitState;
  let [policies, rests, separator] = ['', '', ''];
  for (const state of states) {
    if (remaining(state) < remaining(nearest)) nearest = state;
    policies += separator + policyText(state.policy);
    rests += `${separator}"${state.policy.name}";r=${remaining(state)};t=${seconds(state.resetMs)}`;
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
    String(remaining(nearest)),
    'X-RateLimit-Reset',
    String(seconds(nowMs + nearest.resetMs)),
  ];
}

/** How long a refused caller has to wait until every exhausted limit has room again. */
export function retryAfterSeconds({ states }: Decision): number {
  const exhausted = states.filter((state) => remaining(state) === 0);
  return Math.max(1, ...exhausted.map(({ resetMs }: LimitState) => seconds(resetMs)));
}

const seconds = (ms: number) => Math.ceil(ms / 1_000);

function policyText(policy: Policy): string {
  const text = policyTexts.get(policy) ?? `"${policy.name}";q=${policy.limit};w=${windowMs / 1_000}`;
  policyTexts.set(policy, text);
  return text;
}
