import { type MakeDatabase, openCompany } from './companies.ts';
import { evaluate, type Score, sumOf } from './evaluate.ts';
import type { Half } from './questions.ts';

export type { Score } from './evaluate.ts';
export { floors } from './floors.ts';
export type { Half } from './questions.ts';

interface Scores {
  readonly scores: Readonly<Record<Half, Score>>;
  /** The answers of the tuned half that are not right. */
  readonly failures: readonly string[];
}

/** Asks all questions about both companies. */
export async function evaluateAnalyst(parts: readonly Half[], makeDatabase: MakeDatabase): Promise<Scores> {
  const scores: Record<Half, Score[]> = { tuned: [], untouched: [] };
  const failures: string[] = [];
  for (const company of ['demonstration', 'clinic'] as const) {
    const open = await openCompany(company, makeDatabase);
    try {
      for (const half of parts) {
        const report = await evaluate(company, half, open);
        scores[half].push(report.score);
        failures.push(...report.failures);
      }
    } finally {
      await open.stop();
    }
  }
  return { scores: { tuned: sumOf(scores.tuned), untouched: sumOf(scores.untouched) }, failures };
}
