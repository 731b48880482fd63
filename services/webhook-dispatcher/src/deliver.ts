import { type Client, classifyCallFailure } from '@agent-service/contracts';
import type { DeliveriesJob } from '@agent-service/queues';
import { inStepSpan, type ProcessContext, processClock, type SpanDescription, type SpanEnd } from '@agent-service/runtime';
import { createBatcher, retry } from '@agent-service/work';
import type { Dispatcher } from 'undici';
import { type AttemptOutcome, send } from './send.ts';

type BeginItem = Parameters<Client<'webhooks'>['beginDelivery']>[0]['items'] extends (infer Item)[] | undefined ? Item : never;
type EndMessage = Parameters<Client<'webhooks'>['endDelivery']>[0]['items'] extends (infer Item)[] | undefined ? Item : never;
type EndItem = EndMessage & DeliveryInJob;
type BegunAttempt = NonNullable<Awaited<ReturnType<Client<'webhooks'>['beginDelivery']>>['results'][number]['begun']>;

/** So many attempts, with their bodies, stay well below the size limit of a message. */
const maxAttemptsPerBatch = 200;
const maxOutcomesPerBatch = 500;
/** Reports that are sent at once: a slow one does not keep the outcomes of other tenants waiting. */
const reportShards = 4;
/** The pauses between attempts to report an outcome. After an outage of webhooks or its database that is longer than their sum, events are sent again. */
const reportPausesMs = [200, 500, 1_000, 2_000, ...new Array<number>(8).fill(4_000)];

interface DeliveryInJob {
  delivery: { organizationId: string; environment: string; deliveryId: string };
  dispatch: number;
}

interface DeliverOptions {
  process: ProcessContext;
  webhooks: Client<'webhooks'>;
  agent: Dispatcher;
}

/** Runs a job: begins each of its deliveries, sends it and reports the outcome. */
export function createDeliver({ process, webhooks, agent }: DeliverOptions): (job: DeliveriesJob, stopping: AbortSignal) => Promise<void> {
  const { metrics, logger } = process;
  const attempts = metrics.counter('webhook_attempts_total', 'Attempts to deliver events', ['outcome']);
  const firstAttempts = metrics.seconds('webhook_first_attempt_seconds', 'From the event coming in to its first attempt', []);
  const begin = createBatcher<BeginItem, BegunAttempt | null>({
    maxItems: maxAttemptsPerBatch,
    run: async (items) => (await webhooks.beginDelivery({ items })).results.map(({ begun }) => begun),
  });
  const end = createBatcher<EndItem, undefined>({
    maxItems: maxOutcomesPerBatch,
    run: async (items) => {
      await webhooks.endDelivery({ items });
      return items.map(() => undefined);
    },
    // A call with an outcome that cannot be saved, as of a locked webhook, takes long and fails: the tenant's outcomes are then reported alone.
    classify: (cause) => (classifyCallFailure(cause) === 'all' ? 'all' : 'slow'),
    tenants: { of: ({ delivery }) => delivery, lanes: reportShards },
  });

  /** If every attempt to report fails, the job ends and the delivery is sent again. */
  const report = (item: EndItem): Promise<undefined> =>
    retry(() => end.add(item), { pauseAfter: (failures) => reportPausesMs[failures - 1] });

  async function deliver(key: DeliveryInJob, stopping: AbortSignal): Promise<void> {
    const { deliveryId } = key.delivery;
    const attempt = await begin.add(key);
    if (!attempt) return;
    if (attempt.attempt === 1) firstAttempts.observe((processClock.now() - Number(attempt.receivedAtMs)) / 1000);
    const run = () => send(agent, attempt, stopping);
    const outcome = await inStepSpan('POST', run, (end) => describeAttempt(deliveryId, attempt, end));
    const label = labelOf(outcome);
    attempts.inc({ outcome: label });
    // The receiver's failure, and none of the service: no warning. The webhook's pauses between attempts bound the lines.
    const level = label === '2xx' || label === 'stopped' ? 'debug' : 'info';
    logger[level]({ event: 'delivery_attempt', ...describeDelivery(key, attempt), outcome: label });
    await report({ ...key, url: attempt.url, ...toMessage(outcome) });
  }

  return async ({ deliveries }, stopping) => {
    const keys = deliveries.map(({ dispatch, ...delivery }) => ({ delivery, dispatch }));
    // The job lasts until the last of its deliveries has ended, also if another delivery fails.
    const ended = await Promise.allSettled(keys.map((key) => deliver(key, stopping)));
    const failed = ended.find((each) => each.status === 'rejected');
    if (failed) throw failed.reason;
  };
}

/** Without the path and query of the URL, which may hold a secret of the receiver. */
const describeDelivery = ({ delivery }: DeliveryInJob, { url, webhookId, eventId, eventType, attempt }: BegunAttempt) => ({
  organization_id: delivery.organizationId,
  environment: delivery.environment,
  webhook_id: webhookId,
  delivery_id: delivery.deliveryId,
  event_id: eventId,
  event_type: eventType,
  host: new URL(url).host,
  attempt,
});

/** The span has the host of the URL only: the path or query may hold a secret of the receiver. */
function describeAttempt(deliveryId: string, { url, eventId, attempt }: BegunAttempt, end: SpanEnd<AttemptOutcome>): SpanDescription {
  const attributes = {
    'http.request.method': 'POST',
    'http.request.resend_count': attempt - 1,
    'server.address': new URL(url).hostname,
    'agent_service.event_id': eventId,
    'agent_service.delivery_id': deliveryId,
  };
  if ('cause' in end) return { attributes, isFailed: true };
  const { result } = end;
  if (result.kind !== 'answered')
    return { attributes, isFailed: true, errorType: result.kind === 'unanswered' ? result.reason : result.kind };
  const answered = { ...attributes, 'http.response.status_code': result.status };
  // A redirect is not followed, so it fails the delivery as well.
  return { attributes: answered, isFailed: result.status >= 300, errorType: String(result.status) };
}

function labelOf(outcome: AttemptOutcome): string {
  switch (outcome.kind) {
    case 'answered':
      return `${Math.floor(outcome.status / 100)}xx`;
    case 'unanswered':
      return outcome.reason;
    case 'stopped':
      return 'stopped';
  }
}

function toMessage(outcome: AttemptOutcome): Pick<EndMessage, 'answer' | 'failure' | 'returned'> {
  switch (outcome.kind) {
    case 'answered':
      return { answer: { status: outcome.status, body: outcome.body, retryAfterMs: outcome.retryAfterMs, durationMs: outcome.durationMs } };
    case 'unanswered':
      return { failure: { reason: outcome.reason, durationMs: outcome.durationMs } };
    case 'stopped':
      return { returned: {} };
  }
}
