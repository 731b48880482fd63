import { type MakeDatabase, openCompany } from './companies.ts';
import { evaluate, type Score, sumOf } from './evaluate.ts';
import type { Part } from './questions.ts';

export { floors } from './floors.ts';
export type { Part } from './questions.ts';

interface Scores {
  readonly scores: Readonly<Record<Part, Score>>;
  /** The answers of the other parts that are not right; none of the untouched half. */
  readonly failures: readonly string[];
}

/** Asks the questions of the parts about every company, in all wordings or in every so many of a part. */
export async function evaluateAnalyst(
  parts: readonly Part[],
  makeDatabase: MakeDatabase,
  every: Partial<Record<Part, number>> = {},
): Promise<Scores> {
  const scores: Record<Part, Score[]> = { tuned: [], untouched: [], hardening: [] };
  const failures: string[] = [];
  for (const company of ['demonstration', 'clinic', 'library'] as const) {
    const open = await openCompany(company, makeDatabase);
    try {
      for (const part of parts) {
        const report = await evaluate(company, part, open, every[part]);
        scores[part].push(report.score);
        failures.push(...report.failures);
      }
    } finally {
      await open.stop();
    }
  }
  return { scores: { tuned: sumOf(scores.tuned), untouched: sumOf(scores.untouched), hardening: sumOf(scores.hardening) }, failures };
}
