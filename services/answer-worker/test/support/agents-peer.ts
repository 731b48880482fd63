import { type ErrorCode, type Implementation, ServiceError, serve, services } from '@agent-service/contracts';
import { createProcess, type RunningProcess } from '@agent-service/runtime';
import { freePort } from '@agent-service/testkit';
import { secret } from './settings.ts';

type Methods = Implementation<'agents'>;
type Requested<Name extends keyof Methods> = Parameters<Methods[Name]['handle']>[0];
type ResponseOf<Name extends keyof Methods> = Awaited<ReturnType<Methods[Name]['handle']>>;

type BeginItem = Requested<'beginAnswer'>['items'][number];
type CompleteItem = Requested<'completeAnswer'>['items'][number];
type FailItem = Requested<'failAnswer'>['items'][number];
export type Offer = Requested<'waitForAnswers'>;
type Step = Requested<'authorizeStep'>;
type FinishedStep = Requested<'finishStep'>;
type Attempt = Requested<'renewLeases'>['answers'][number];
type Begun = NonNullable<NonNullable<ResponseOf<'beginAnswer'>['results']>[number]['begun']>;

/** The results of `agents` for each item; a code is a refusal. May throw for the whole call. */
export interface AgentsScript {
  begin(item: BeginItem): ErrorCode | Partial<Begun>;
  complete(item: CompleteItem): ErrorCode | undefined;
  fail(item: FailItem): ErrorCode | undefined;
  isLost(attempt: Attempt): boolean;
  authorize(step: Step): ErrorCode | ResponseOf<'authorizeStep'>;
  /** The answers that a waiting call gets. Unset: workers may not wait, as at a replica of the version before. */
  wait?: ((offer: Offer) => Promise<{ answerId: string; attempt: Partial<Begun> }[]>) | undefined;
  /** The tenant's database. */
  source(): ErrorCode | ResponseOf<'getDataSource'>;
}

/** A real gRPC server in place of `agents`, with scripted results and a record of the calls. */
export interface AgentsPeer {
  readonly address: string;
  script: AgentsScript;
  readonly begunItems: BeginItem[];
  readonly completed: CompleteItem[];
  readonly failed: FailItem[];
  readonly returned: Attempt[];
  /** Attempts whose process was reported dead. */
  readonly died: Attempt[];
  /** How many attempts each call that reported a death brought. */
  readonly deathCalls: number[];
  readonly steps: Step[];
  readonly finished: FinishedStep[];
  /** The answers of each call. */
  readonly renewed: Attempt[][];
  /** How many items each call to complete brought. */
  readonly completeCalls: number[];
  workerChannel: string;
  start(): Promise<void>;
  stop(): Promise<void>;
}

export const usualScript = (): AgentsScript => ({
  begin: () => ({}),
  complete: () => undefined,
  fail: () => undefined,
  isLost: () => false,
  authorize: () => 'internal',
  source: () => 'not_found',
  wait: undefined,
});

const usualBegun = (): Begun => ({
  attempt: 1,
  deadlineMs: Date.now() + 300_000,
  agentId: 'agt_1',
  conversationId: 'conv_1',
  userId: 'usr_1',
  model: 'Fast',
  systemPrompt: 'You answer shortly.',
  dataScope: { tables: [], readOnly: true },
  outputPreferences: { defaultFormat: 'markdown', chartEnabled: false },
  message: 'How are you?',
  contextJson: '',
  history: [],
  replyChannels: [],
  stream: false,
  requestId: 'req_1',
  traceparent: '',
});

export async function startAgentsPeer(): Promise<AgentsPeer> {
  const port = await freePort();
  let running: RunningProcess | undefined;
  const peer: AgentsPeer = {
    address: `ipv4:127.0.0.1:${port}`,
    script: usualScript(),
    begunItems: [],
    completed: [],
    failed: [],
    returned: [],
    died: [],
    deathCalls: [],
    steps: [],
    finished: [],
    renewed: [],
    completeCalls: [],
    workerChannel: '',
    async start() {
      running ??= await createProcess('agents', peerConfig(port), (process, config) =>
        serve(process, config, 'agents', implementationOf(peer)),
      );
    },
    async stop() {
      await running?.stop();
      running = undefined;
    },
  };
  await peer.start();
  return peer;
}

const peerConfig = (port: number) => ({
  SERVICE_SECRET: [secret],
  HOST: '127.0.0.1',
  OPS_PORT: 0,
  GRPC_PORT: port,
  LOG_LEVEL: 'silent' as const,
  DRAIN_DELAY_MS: 0,
});

const refusalOf = (code: ErrorCode | undefined) => (code === undefined ? {} : { refusal: { code } });

function implementationOf(peer: AgentsPeer): Methods {
  const methods: { [Name in keyof Methods]?: Methods[Name]['handle'] } = {
    async beginAnswer({ items, workerChannel }) {
      peer.workerChannel = workerChannel;
      peer.begunItems.push(...items);
      return { results: items.map((item) => begunOrRefused(peer.script.begin(item))) };
    },
    async waitForAnswers(offer) {
      if (!peer.script.wait) return refuse();
      peer.workerChannel = offer.workerChannel;
      const assigned = await peer.script.wait(offer);
      return {
        answers: assigned.map(({ answerId, attempt }) => ({ answer: { ...tenant, answerId }, begun: { ...usualBegun(), ...attempt } })),
      };
    },
    async renewLeases({ answers }) {
      peer.renewed.push(answers);
      return { lost: answers.filter((answer) => peer.script.isLost(answer)) };
    },
    async completeAnswer({ items }) {
      peer.completeCalls.push(items.length);
      const results = items.map((item) => refusalOf(peer.script.complete(item)));
      peer.completed.push(...items);
      return { results };
    },
    async failAnswer({ items }) {
      const results = items.map((item) => refusalOf(peer.script.fail(item)));
      peer.failed.push(...items);
      return { results };
    },
    async authorizeStep(step) {
      peer.steps.push(step);
      return givenOrRefused(peer.script.authorize(step));
    },
    async finishStep(step) {
      peer.finished.push(step);
      return {};
    },
    getDataSource: async () => givenOrRefused(peer.script.source()),
    async returnAnswers({ answers, processDied }) {
      (processDied ? peer.died : peer.returned).push(...answers);
      if (processDied) peer.deathCalls.push(answers.length);
      return {};
    },
  };
  return new Proxy({} as Methods, {
    get: (_target, name) => ({ allow: services('answer-worker'), handle: methods[name as keyof Methods] ?? refuse }),
  });
}

function begunOrRefused(result: ErrorCode | Partial<Begun>) {
  return typeof result === 'string' ? refusalOf(result) : { begun: { ...usualBegun(), ...result } };
}

function givenOrRefused<Response>(result: ErrorCode | Response): Response {
  if (typeof result === 'string') throw new ServiceError(result as ErrorCode);
  return result;
}

const tenant = { organizationId: 'org_a', environment: 'live' } as const;

const refuse = () => Promise.reject(new ServiceError('internal', { message: 'workers may not call this method' }));
