export interface Attempt {
  readonly organizationId: string;
  readonly environment: string;
  readonly answerId: string;
  readonly attempt: number;
}

/** What a step is to change, as its worker says it. */
export interface StepChange {
  /** The change in words. */
  readonly description: string;
  /** Empty, as the operation, where the worker only has words for it. */
  readonly table: string;
  readonly operation: string;
  readonly askedRows: number;
  /** A JSON array of primary keys, or empty. */
  readonly keysJson: string;
}

/** A change that was claimed, and for whom. */
export interface ClaimedStep extends StepChange {
  readonly organizationId: string;
  readonly environment: 'live' | 'test';
  readonly answerId: string;
  readonly step: number;
  readonly attempt: number;
  /** Whoever asked for the answer. */
  readonly userId: string;
  readonly agentId: string;
  readonly conversationId: string;
  readonly requestId: string;
}

/** Of a row `s` of answer_steps. */
export const claimColumns = `s.organization_id as "organizationId", s.environment, s.answer_id as "answerId", s.step, s.attempt,
  s.user_id as "userId", s.agent_id as "agentId", s.conversation_id as "conversationId", s.request_id as "requestId", s.description,
  s.table_name as "table", s.operation, s.asked_rows as "askedRows", s.keys_json as "keysJson"`;
