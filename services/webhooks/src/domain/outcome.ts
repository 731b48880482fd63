/** What became of an attempt, as the dispatcher tells it. */
export type Outcome =
  | { kind: 'answered'; status: number; body: string; retryAfterMs: number; durationMs: number }
  | { kind: 'unanswered'; reason: string; durationMs: number }
  /** The dispatcher stopped; it was no attempt. */
  | { kind: 'returned' };

export type Verdict = 'delivered' | 'failed' | 'gone';

/** Only 2xx is a success, and 410 says that nobody will ever listen there again. */
export function judge(outcome: Exclude<Outcome, { kind: 'returned' }>): Verdict {
  if (outcome.kind === 'unanswered') return 'failed';
  if (outcome.status === 410) return 'gone';
  return outcome.status >= 200 && outcome.status < 300 ? 'delivered' : 'failed';
}
