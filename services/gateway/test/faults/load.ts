import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { type ReceivedResponse, send } from '@agent-service/testkit';
import type { FaultyWorld } from './world.ts';

/** One message as its sender sees it. */
export interface Sent {
  readonly marker: string;
  readonly beganAt: number;
  /** From the first response that has an id: the message was accepted. */
  messageId: string;
  endedAt: number;
  /** 200, or the code of the failure. */
  outcome: string;
}

export interface Load {
  readonly sent: readonly Sent[];
  /** Sends no more messages; resolves when every one that was sent has its outcome. */
  stop(): Promise<void>;
}

const patienceMs = 90_000;
let runs = 0;

/** Starts callers that each send a message and repeat it under the same Idempotency-Key until its outcome is known. */
export function startLoad(world: FaultyWorld, callers: number): Load {
  const run = ++runs;
  const sent: Sent[] = [];
  let stopped = false;
  const caller = async () => {
    while (!stopped) {
      const one: Sent = { marker: `q-${run}-${sent.length}`, beganAt: performance.now(), messageId: '', endedAt: 0, outcome: '' };
      sent.push(one);
      await untilKnown(world, one, randomUUID());
    }
  };
  const running = Promise.all(Array.from({ length: callers }, caller));
  return {
    sent,
    async stop() {
      stopped = true;
      await running;
    },
  };
}

/** Sends a message and repeats it under the same Idempotency-Key until its outcome is known. */
export async function untilKnown(world: FaultyWorld, one: Sent, idempotencyKey: string): Promise<void> {
  const end = performance.now() + patienceMs;
  for (let attempt = 0; performance.now() < end; attempt += 1) {
    const gateway = world.gateways[attempt % world.gateways.length] as string;
    const answer = await attemptOnce(world, gateway, one.marker, idempotencyKey);
    if (answer && isOutcome(one, answer)) {
      one.endedAt = performance.now();
      return;
    }
    await pause(100);
  }
  one.outcome = 'none';
}

/** Undefined where the gateway was killed before it answered. */
async function attemptOnce(world: FaultyWorld, gateway: string, marker: string, key: string): Promise<ReceivedResponse | undefined> {
  const path = `/v1/agents/${world.agentId}/messages`;
  const headers = { authorization: `Bearer ${world.key}`, 'content-type': 'application/json', 'idempotency-key': key };
  const body = JSON.stringify({ message: `Question ${marker}` });
  const answer = await send(gateway, { method: 'POST', path, headers, body }).catch(() => undefined);
  if (answer) world.answers.check({ method: 'POST', path, ...answer, contentType: answer.headers['content-type'] });
  return answer;
}

/** False for errors after which a caller repeats the message. */
function isOutcome(one: Sent, answer: ReceivedResponse): boolean {
  if (answer.status === 200) {
    const { data } = answer.json<{ data: { id: string; content: string; status: string } }>();
    one.messageId = data.id;
    one.outcome = data.content === `Answer to ${one.marker}.` ? '200' : `200 with ${data.content}`;
    return true;
  }
  const { error } = answer.json<{ error: { code: string; details: { message_id?: string } | null } }>();
  one.messageId ||= error.details?.message_id ?? '';
  if (['unavailable', 'deadline_exceeded', 'idempotency_in_progress', 'answer_timeout'].includes(error.code)) return false;
  one.outcome = `${answer.status} ${error.code}`;
  return true;
}
