// Writes a report from the answers to a list of questions, for a timer such as cron:
// AGENT_SERVICE_KEY=sa_… AGENT_ID=agt_… node examples/nightly-report/report.ts REPORT.md 'How many orders do we have?' …
// A run that is repeated on the same day pays for no question again.
import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { createClient, isApiError, startAnswer, waitForAnswer } from '@agent-service/client';

const { AGENT_SERVICE_URL: baseUrl = 'http://127.0.0.1:8080', AGENT_SERVICE_KEY: auth = '', AGENT_ID: agentId = '' } = process.env;
const [file, ...questions] = process.argv.slice(2);
if (!auth || !agentId || !file || questions.length === 0) {
  console.error('usage: AGENT_SERVICE_KEY=sa_… AGENT_ID=agt_… node report.ts FILE QUESTION …');
  process.exit(2);
}

const client = createClient({ baseUrl, auth });
const today = new Date().toISOString().slice(0, 10);

interface Section {
  readonly question: string;
  readonly text: string;
  readonly credits: number;
}

/** A question that fails is a section that says why, and keeps the others. */
async function answer(question: string): Promise<Section> {
  const name = createHash('sha256').update(question).digest('hex').slice(0, 16);
  try {
    const { id } = await startAnswer(client, agentId, { message: question }, { idempotencyKey: `report-${today}-${name}` });
    const { content, credits_consumed } = await waitForAnswer(client, agentId, id);
    return { question, text: content, credits: credits_consumed };
  } catch (cause) {
    if (!isApiError(cause)) throw cause;
    return { question, text: `*Not answered (${cause.code}): ${cause.message}*`, credits: 0 };
  }
}

// All questions run at the same time; the service limits how many of an organization do.
const sections = await Promise.all(questions.map(answer));
const credits = sections.reduce((sum, section) => sum + section.credits, 0);
const body = sections.map(({ question, text }) => `## ${question}\n\n${text}\n`).join('\n');
await writeFile(file, `# Report of ${today}\n\n${body}\n${credits} credits.\n`);
console.log(`${file}: ${sections.length} answers, ${credits} credits`);
