import { encodeIdTime, newId } from '@agent-service/contracts';
import type { Pool } from 'pg';

export interface Owner {
  organizationId: string;
  environment: 'live' | 'test';
  agentId: string;
  userId: string;
}

/** A message's id of just this millisecond: those of one process never go back in time, and these do. */
export const messageId = (at: number): string => `msg_${encodeIdTime(at)}${newId('msg').slice(-16)}`;

const iso = (at: number) => new Date(at).toISOString();
const keyOf = ({ organizationId, environment }: Owner) => [organizationId, environment];

/** Conversations as acceptance and the ends of answers leave them, written past the service. */
export class StoredConversations {
  readonly #database: Pool;
  readonly #owner: Owner;

  constructor(database: Pool, owner: Owner) {
    this.#database = database;
    this.#owner = owner;
  }

  async begin(at: number): Promise<string> {
    const id = newId('conv', at);
    const { agentId, userId } = this.#owner;
    await this.#database.query(
      `insert into conversations (organization_id, environment, id, agent_id, user_id, message_count, created_at, last_message_at)
       values ($1, $2, $3, $4, $5, 0, $6, $6)`,
      [...keyOf(this.#owner), id, agentId, userId, iso(at)],
    );
    await this.#database.query(
      `insert into conversation_counts (organization_id, environment, agent_id, user_id, count) values ($1, $2, $3, $4, 1)
       on conflict (organization_id, environment, agent_id, user_id) do update set count = conversation_counts.count + 1`,
      [...keyOf(this.#owner), agentId, userId],
    );
    return id;
  }

  /** Asks and leaves the answer pending; its id. */
  async ask(conversationId: string, at: number, state: 'waiting' | 'dispatched' | 'running' | 'settling' = 'running'): Promise<string> {
    const { agentId, userId } = this.#owner;
    await this.#say(conversationId, messageId(at - 1), at - 1, { role: 'user', content: `question of ${at}`, status: 'completed' });
    const id = messageId(at);
    const far = iso(at + 3_600_000);
    await this.#database.query(
      `insert into answers (organization_id, environment, id, state, due, agent_id, conversation_id, user_id, tier, accepted_at, deadline)
       values ($1, $2, $3, $4, $5, $6, $7, $8, 'Smart', $9, $5)`,
      [...keyOf(this.#owner), id, state, far, agentId, conversationId, userId, iso(at)],
    );
    await this.#database.query(
      `update conversations set message_count = message_count + 2, last_message_at = $4 where organization_id = $1 and environment = $2 and id = $3`,
      [...keyOf(this.#owner), conversationId, iso(at)],
    );
    return id;
  }

  /** Ends a pending answer in one statement, as the service does. */
  async end(conversationId: string, id: string, at: number, status: 'completed' | 'failed' = 'completed'): Promise<void> {
    const { agentId, userId } = this.#owner;
    const failure = status === 'failed' ? ['provider_error', 'The provider gave no answer.'] : ['', ''];
    await this.#database.query(
      `with gone as (delete from answers where organization_id = $1 and environment = $2 and id = $3)
       insert into messages (organization_id, environment, id, created_at, conversation_id, agent_id, user_id, role, content, status, tier,
         credits, failure_code, failure_message, queries)
       values ($1, $2, $3, $4, $5, $6, $7, 'assistant', $8, $9, 'Smart', $10, $11, $12, $13)`,
      [
        ...keyOf(this.#owner),
        id,
        iso(at),
        conversationId,
        agentId,
        userId,
        `answer of ${at}`,
        status,
        status === 'completed' ? 3 : 0,
        ...failure,
        JSON.stringify([{ statement: 'select 1', tables: ['orders'], rows: 1, durationMs: 2 }]),
      ],
    );
  }

  /** Leaves the hold of an ended answer to be released. */
  async keepHold(id: string): Promise<void> {
    await this.#database.query(
      `insert into answers (organization_id, environment, id, state, due, agent_id, conversation_id, user_id, accepted_at, deadline)
       select organization_id, environment, id, 'releasing', now() + interval '1 day', agent_id, conversation_id, user_id, created_at, created_at
       from messages where organization_id = $1 and environment = $2 and id = $3`,
      [...keyOf(this.#owner), id],
    );
  }

  async exchange(conversationId: string, at: number): Promise<string> {
    const id = await this.ask(conversationId, at);
    await this.end(conversationId, id, at);
    return id;
  }

  async #say(conversationId: string, id: string, at: number, { role, content, status }: Record<'role' | 'content' | 'status', string>) {
    const { agentId, userId } = this.#owner;
    await this.#database.query(
      `insert into messages (organization_id, environment, id, created_at, conversation_id, agent_id, user_id, role, content, status)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
      [...keyOf(this.#owner), id, iso(at), conversationId, agentId, userId, role, content, status],
    );
  }
}
