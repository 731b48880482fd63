import { processClock } from '@agent-service/runtime';
import { type Decision, type Policy, remaining, type Standing } from './limiter.ts';
import { windowMs } from './window.ts';

const policyTexts = new WeakMap<Policy, string>();

/** The limits as headers, names and values in turn: the IETF draft's for every limit, and X-RateLimit-* for the nearest. */
export function limitHeaders({ standings }: Decision, nowMs: number = processClock.now()): string[] {
  const nearest = standings.reduce((least, standing) => (remaining(standing) < remaining(least) ? standing : least));
  return [
    'RateLimit-Policy',
    standings.map(({ policy }) => policyText(policy)).join(', '),
    'RateLimit',
    standings.map((standing) => `"${standing.policy.name}";r=${remaining(standing)};t=${seconds(standing.resetMs)}`).join(', '),
    'X-RateLimit-Limit',
    String(nearest.policy.limit),
    'X-RateLimit-Remaining',
    String(remaining(nearest)),
    'X-RateLimit-Reset',
    String(seconds(nowMs + nearest.resetMs)),
  ];
}

/** How long a refused caller has to wait until every exhausted limit has room again. */
export function retryAfterSeconds({ standings }: Decision): number {
  const exhausted = standings.filter((standing) => remaining(standing) === 0);
  return Math.max(1, ...exhausted.map(({ resetMs }: Standing) => seconds(resetMs)));
}

const seconds = (ms: number) => Math.ceil(ms / 1_000);

function policyText(policy: Policy): string {
  const text = policyTexts.get(policy) ?? `"${policy.name}";q=${policy.limit};w=${windowMs / 1_000}`;
  policyTexts.set(policy, text);
  return text;
}
