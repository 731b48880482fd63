import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The data that a question is asked about. */
export type Company = 'demonstration' | 'clinic' | 'library';

/**
 * The tuned and the untouched half were written before the analyst; of the untouched one only totals are ever shown. Questions that were
 * written later, against it, are the third part.
 */
export type Part = 'tuned' | 'untouched' | 'hardening';

/**
 * One question in up to three wordings, with the statement whose rows an answer must have. A wording that also has readings of its own stands
 * apart under the same id, and so in the same half.
 */
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

/** Faults that users reported, and questions in a manager's words that found silent errors, have been looked at: all of them are tuned. */
const tunedFiles = /^(reported|managers)$/;

const folderOf = (company: Company): string => fileURLToPath(new URL(`./${company}/`, import.meta.url));

const questionsIn = (file: string): EvaluationQuestion[] => JSON.parse(readFileSync(file, 'utf8'));

export function questionsOf(company: Company, part: Part): EvaluationQuestion[] {
  const folder = folderOf(company);
  const files = readdirSync(folder).filter((file) => file.endsWith('.json'));
  return files.flatMap((file) => questionsIn(folder + file).filter(({ id }) => part === partOf(company, basename(file, '.json'), id)));
}

/** The questions whose answers users reported as silent errors, or as refused. */
export const reportedIds = (): string[] => questionsIn(`${folderOf('demonstration')}reported.json`).map(({ id }) => id);

function partOf(company: Company, file: string, id: string): Part {
  if (tunedFiles.test(file)) return 'tuned';
  return company === 'library' || file === 'hardening' ? 'hardening' : halfOf(`${company}/${id}`);
}

/** The half follows from the question's name, so that nothing but the name decides it. */
const halfOf = (name: string): Part => ((createHash('sha256').update(name).digest()[0] as number) % 2 === 0 ? 'tuned' : 'untouched');
