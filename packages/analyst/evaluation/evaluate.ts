import { answerQuestion } from '../src/index.ts';
import type { OpenCompany } from './companies.ts';
import { type Answer, judge, type Row, type Verdict } from './judge.ts';
import { type Company, type EvaluationQuestion, type Part, questionsOf } from './questions.ts';

/** Totals over the wordings of a part. */
export interface Score {
  readonly wordings: number;
  readonly right: number;
  readonly askedBack: number;
  readonly wrong: number;
}

interface Report {
  readonly score: Score;
  /** The answers that are not right. Always empty for the untouched half: the analyst is never tuned against it. */
  readonly failures: readonly string[];
}

const limitMs = 20_000;

/** Asks the wordings of one part about one company: each, or every so many. */
export async function evaluate(company: Company, part: Part, { tools, rows }: OpenCompany, every = 1): Promise<Report> {
  const verdicts: Verdict[] = [];
  const failures: string[] = [];
  let listed = 0;
  for (const question of questionsOf(company, part)) {
    const wordings = question.wordings.filter(() => listed++ % every === 0);
    const expected: Row[][] = [];
    for (const sql of wordings.length > 0 ? [question.sql ?? []].flat() : []) expected.push(await rows(sql));
    for (const message of wordings) {
      const { content, answer } = await ask(question, message, tools, company);
      const verdict = judge(question, expected, answer);
      verdicts.push(verdict);
      if (verdict !== 'right' && part !== 'untouched') failures.push(`${verdict}: ${company}/${question.id} “${message}”\n${content}`);
    }
  }
  const count = (verdict: Verdict) => verdicts.filter((one) => one === verdict).length;
  const score = { wordings: verdicts.length, right: count('right'), askedBack: count('asked back'), wrong: count('wrong') };
  return { score, failures };
}

async function ask(
  { earlier = [], context }: EvaluationQuestion,
  message: string,
  tools: OpenCompany['tools'],
  source: Company,
): Promise<{ content: string; answer: Answer }> {
  const question = { message, earlier, context: context ? JSON.stringify(context) : '', tools, source };
  const output = { format: 'markdown', charts: false } as const;
  const { content, outcome, result } = await answerQuestion({ ...question, output }, AbortSignal.timeout(limitMs));
  const answer: Answer = result
    ? { rows: result.rows.map((row) => row.map((cell) => (cell === null ? null : String(cell)))), truncated: result.truncated }
    : { refused: true };
  return { content: `${outcome}: ${content}`, answer };
}

export const sumOf = (scores: readonly Score[]): Score => ({
  wordings: scores.reduce((sum, { wordings }) => sum + wordings, 0),
  right: scores.reduce((sum, { right }) => sum + right, 0),
  askedBack: scores.reduce((sum, { askedBack }) => sum + askedBack, 0),
  wrong: scores.reduce((sum, { wrong }) => sum + wrong, 0),
});
