import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The data that a question is asked about. */
export type Company = 'demonstration' | 'clinic';

/** Only the tuned half may be looked at when the analyst is changed: of the untouched half only totals are ever shown. */
export type Half = 'tuned' | 'untouched';

/** One question in three wordings, with the statement whose rows an answer must have. */
export interface EvaluationQuestion {
  readonly id: string;
  readonly wordings: readonly string[];
  /** The same user's messages before this one, oldest first. */
  readonly earlier?: readonly string[];
  readonly context?: Readonly<Record<string, unknown>>;
  /** A statement, or one for each reading that is right. */
  readonly sql?: string | readonly string[];
  /** `rows`: the same rows; `ranked`: the first of these rows, in this order; `values`: all of these values. */
  readonly match?: 'rows' | 'ranked' | 'values';
  /** No table holds the answer, or the question has several meanings. */
  readonly asksBack?: boolean;
}

/** Faults that users reported have been looked at, so all of them are tuned. */
const reported = 'reported.json';

export function questionsOf(company: Company, half: Half): EvaluationQuestion[] {
  const folder = fileURLToPath(new URL(`./${company}/`, import.meta.url));
  const files = readdirSync(folder).filter((file) => file.endsWith('.json'));
  return files.flatMap((file) => {
    const questions = JSON.parse(readFileSync(folder + file, 'utf8')) as EvaluationQuestion[];
    return questions.filter(({ id }) => half === (basename(file) === reported ? 'tuned' : halfOf(`${company}/${id}`)));
  });
}

/** The half follows from the question's name, so that nothing but the name decides it. */
const halfOf = (name: string): Half => ((createHash('sha256').update(name).digest()[0] as number) % 2 === 0 ? 'tuned' : 'untouched');
