import type { Sql } from '@agent-service/store';
import { type Ender, failed, failureOf } from './ender.ts';
import type { AnswerKey, TenantKey } from './key.ts';
import { allowing } from './store/text.ts';

const mostAtOnce = 500;

export interface DeletedAgent extends TenantKey {
  readonly agentId: string;
}

/** Ends what a deleted agent still had to answer, in the deleting transaction; `committed` follows its commit. */
export async function failAnswersOfAgent(ender: Ender, sql: Sql, agent: DeletedAgent): Promise<{ ended: number; committed(): void }> {
  const answers = await answersOf(sql, agent);
  return ender.endWithin(
    sql,
    answers.map((key) => failed(key, failureOf('agent_deleted'))),
  );
}

/** What that left, in steps of their own. Whatever is left after this is found by the worker that begins it. */
export async function failRestOfAgent(ender: Ender, sql: Sql, agent: DeletedAgent): Promise<void> {
  for (;;) {
    const answers = await answersOf(sql, agent);
    const ended = await ender.end(answers.map((key) => failed(key, failureOf('agent_deleted'))));
    if (answers.length < mostAtOnce || ended.length === 0) return;
  }
}

const answersOf = (sql: Sql, { organizationId, environment, agentId }: DeletedAgent): Promise<AnswerKey[]> =>
  sql<AnswerKey>(
    `select organization_id as "organizationId", environment, id from answers
     where organization_id = $1 and environment = $2 and agent_id = $3 and state in ${allowing('end')} order by id limit ${mostAtOnce}`,
    [organizationId, environment, agentId],
  );
