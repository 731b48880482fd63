import {
  type ApartJob,
  createNoticePublisher,
  createProducer,
  openRedis,
  openReplyChannel,
  type Reply,
  type WorkerNotice,
} from '@agent-service/queues';
import { createProcess } from '@agent-service/runtime';

/** The Redis side of `agents` and a gateway: dispatches jobs, sends notices, receives replies. */
export interface Dispatcher {
  /** The reply channel. */
  readonly channel: string;
  readonly replies: Reply[];
  of(answerId: string): Reply[];
  /** Adds jobs for these answers. */
  dispatch(answerIds: readonly string[], dispatch?: number, queue?: 'answer' | 'answerApart', shared?: boolean): Promise<void>;
  notice(channel: string, notice: WorkerNotice): void;
  counts(): Promise<{ waiting: number; active: number; delayed: number }>;
  stop(): Promise<void>;
}

/** On a busy machine Redis may take longer than half a second. `agents` would add the job again; no sweep does that here. */
const commandLimitMs = 20_000;

export const tenant = { organizationId: 'org_a', environment: 'live' } as const;

export async function startDispatcher(redisUrl: string): Promise<Dispatcher> {
  const replies: Reply[] = [];
  const config = {
    HOST: '127.0.0.1',
    OPS_PORT: 0,
    LOG_LEVEL: 'silent' as const,
    DRAIN_DELAY_MS: 0,
    REDIS_URL: redisUrl,
    REDIS_MODE: 'auto' as const,
  };
  const running = await createProcess('dispatcher', config, async (process) => {
    const redis = await openRedis(process, config, { commandLimitMs });
    const channel = await openReplyChannel(process, redis, (messages) => void replies.push(...messages));
    const producers = { answer: createProducer(process, redis, 'answer'), answerApart: createProducer(process, redis, 'answerApart') };
    return { channel, producers, publisher: createNoticePublisher(process, redis) };
  });
  const { channel, producers, publisher } = running.started;
  return {
    channel: channel.address,
    replies,
    of: (answerId) => replies.filter(({ id }) => id === answerId),
    async dispatch(answerIds, dispatch = 1, queue = 'answer', shared = false) {
      const payloads = answerIds.map((answerId): ApartJob => ({ ...tenant, answerId, dispatch, ...(shared && { shared }) }));
      await producers[queue].add(payloads.map((payload) => ({ payload })));
    },
    notice: (name, notice) => publisher.publish(name, notice),
    counts: () => producers.answer.counts(),
    stop: () => running.stop(),
  };
}
