import { callers, type Implementation, type RpcOf, services } from '@agent-service/contracts';
import { createReplyPublisher, openRedis, type Reply } from '@agent-service/queues';
import { createProcess } from '@agent-service/runtime';
import { peerSettings } from './peer-settings.ts';

type Methods = Implementation<'agents'>;
type Sent<Name extends keyof Methods> = Parameters<RpcOf<'agents', Name>['handle']>[0];
type Answered<Name extends keyof Methods> = Awaited<ReturnType<RpcOf<'agents', Name>['handle']>>;
export type MessageItem = Sent<'startAnswer'>['items'][number];
export type StartResult = NonNullable<Answered<'startAnswer'>['results']>[number];
type AnswerState = NonNullable<Answered<'readAnswers'>['results']>[number];
export type AnswerMessage = Extract<Reply, { kind: 'ended' }>['message'];

const at = '2026-01-31T10:00:00.000Z';
const page = { total: 1, nextCursor: '' };

export const agent = {
  id: 'agt_1',
  name: 'Sales',
  description: '',
  category: '',
  status: 'active',
  model: 'Fast',
  createdAt: at,
  updatedAt: at,
  systemPrompt: 'Answer.',
  dataScope: { tables: ['orders(id, total)'], readOnly: true },
  outputPreferences: { defaultFormat: 'markdown', chartEnabled: false },
  welcomeMessage: '',
  suggestedPrompts: [],
  createdBy: 'usr_1',
  sourceTemplateId: '',
  version: 3,
};

const conversation = { id: 'conv_1', agentId: 'agt_1', messageCount: 2, totalCredits: 2, createdAt: at, lastMessageAt: at };

const dataSource = {
  status: 'connected',
  roleGate: { active: true, reason: '' },
  tables: [
    { name: 'orders', schema: 'public', kind: 'table', rowEstimate: 120, columns: [{ name: 'id', type: 'bigint', primaryKey: true }] },
  ],
  page,
};

/** A message of an answer, completed by default. */
export const answerMessage = (id: string, more: Partial<AnswerMessage> = {}): AnswerMessage => ({
  id,
  conversationId: 'conv_1',
  agentId: 'agt_1',
  role: 'assistant',
  content: 'You sold 120 orders.',
  contentType: 'markdown',
  creditsConsumed: 2,
  modelUsed: 'Fast',
  createdAt: at,
  status: 'completed',
  failure: null,
  queries: [],
  record: null,
  ...more,
});

export const pending = (id: string, status = 'running') => answerMessage(id, { status, content: '', creditsConsumed: 0 });

/** The handlers of the peer; assign to replace one. */
export interface AgentsScript {
  createAgent: RpcOf<'agents', 'createAgent'>['handle'];
  getAgent: RpcOf<'agents', 'getAgent'>['handle'];
  listAgents: RpcOf<'agents', 'listAgents'>['handle'];
  updateAgent: RpcOf<'agents', 'updateAgent'>['handle'];
  deleteAgent: RpcOf<'agents', 'deleteAgent'>['handle'];
  listConversations: RpcOf<'agents', 'listConversations'>['handle'];
  listMessages: RpcOf<'agents', 'listMessages'>['handle'];
  getMessage: RpcOf<'agents', 'getMessage'>['handle'];
  cancelAnswer: RpcOf<'agents', 'cancelAnswer'>['handle'];
  /** The outcome of one message. */
  start: (item: MessageItem) => StartResult | Promise<StartResult>;
  /** The state of one answer. */
  read: (answerId: string) => AnswerState | Promise<AnswerState>;
}

/** The result of a message that was accepted under this id. */
export const started = (answerId: string, more: { attached?: boolean; deadlineMs?: number } = {}): StartResult => ({
  started: {
    answerId,
    conversationId: 'conv_1',
    createdAt: at,
    deadlineMs: more.deadlineMs ?? Date.now() + 300_000,
    model: 'Fast',
    attached: more.attached ?? false,
  },
});

export const usualAgents = (): AgentsScript => ({
  createAgent: async (request) => ({ agent: { ...agent, ...request, status: 'draft', dataScope: request.dataScope ?? agent.dataScope } }),
  getAgent: async ({ agentId }) => ({ agent: { ...agent, id: agentId } }),
  listAgents: async () => ({ agents: [agent], page }),
  updateAgent: async ({ agentId }) => ({ agent: { ...agent, id: agentId, version: 4 } }),
  deleteAgent: async () => ({}),
  listConversations: async () => ({ conversations: [conversation], page }),
  listMessages: async () => ({
    messages: [
      answerMessage('msg_2'),
      answerMessage('msg_1', { role: 'user', contentType: 'text', content: 'How much?', creditsConsumed: 0, modelUsed: '' }),
    ],
    page,
  }),
  getMessage: async ({ messageId }) => ({ message: answerMessage(messageId) }),
  cancelAnswer: async ({ messageId }) => ({ message: answerMessage(messageId, { status: 'cancelled', content: '', creditsConsumed: 0 }) }),
  start: ({ answerId }) => started(answerId),
  read: (answerId) => ({ message: answerMessage(answerId), attempt: 1 }),
});

/** All methods of agents that the gateway calls; others are refused. */
export function agentsMethods(script: AgentsScript): Methods {
  const refused = { allow: services(), handle: async () => ({}) };
  const reads = callers({ scope: 'agents:read' });
  const writes = callers({ scope: 'agents:write' });
  const chats = callers({ scope: 'agents:chat' });
  return {
    createAgent: { allow: writes, handle: (request, call) => script.createAgent(request, call) },
    getAgent: { allow: callers({ scope: ['agents:read', 'agents:chat'] }), handle: (request, call) => script.getAgent(request, call) },
    listAgents: { allow: reads, handle: (request, call) => script.listAgents(request, call) },
    updateAgent: { allow: writes, handle: (request, call) => script.updateAgent(request, call) },
    deleteAgent: { allow: writes, handle: (request, call) => script.deleteAgent(request, call) },
    listConversations: { allow: reads, handle: (request, call) => script.listConversations(request, call) },
    listMessages: { allow: reads, handle: (request, call) => script.listMessages(request, call) },
    getMessage: { allow: reads, handle: (request, call) => script.getMessage(request, call) },
    cancelAnswer: { allow: chats, handle: (request, call) => script.cancelAnswer(request, call) },
    startAnswer: {
      allow: services('gateway'),
      handle: async ({ items }) => ({ results: await Promise.all(items.map((item) => script.start(item))) }),
    },
    readAnswers: {
      allow: services('gateway'),
      handle: async ({ items }) => ({ results: await Promise.all(items.map(({ answerId }) => script.read(answerId))) }),
    },
    readRecords: { allow: services('gateway'), handle: async ({ items }) => ({ results: items.map(() => ({})) }) },
    getConversation: { allow: reads, handle: async () => ({ conversation: { ...conversation, title: 'Sales' } }) },
    updateConversation: { allow: chats, handle: async ({ title }) => ({ conversation: { ...conversation, title } }) },
    deleteConversation: { allow: chats, handle: async () => ({}) },
    setFeedback: {
      allow: chats,
      handle: async ({ messageId, score, comment }) => ({ feedback: { messageId, score, comment, updatedAt: at } }),
    },
    describeDataSource: { allow: writes, handle: async () => dataSource },
    activateTemplateAgent: refused,
    authorizeStep: refused,
    connectDataSource: refused,
    deactivateTemplateAgent: refused,
    finishStep: refused,
    getDataSource: refused,
    listDataSources: refused,
    listTemplateAgents: refused,
    removeDataSource: refused,
    testDataSource: refused,
    beginAnswer: refused,
    renewLeases: refused,
    completeAnswer: refused,
    failAnswer: refused,
    returnAnswers: refused,
    waitForAnswers: refused,
    listDeadLetters: refused,
    retryDeadLetters: refused,
  };
}

/** Publishes replies as workers and agents do. */
export interface ReplySender {
  send(channel: string, ...replies: Reply[]): void;
  stop(): Promise<void>;
}

export async function replySender(redisUrl: string): Promise<ReplySender> {
  const redisConfig = { REDIS_URL: redisUrl, REDIS_MODE: 'single' } as const;
  const process = await createProcess('worker', { ...peerSettings, SERVICE_SECRET: [...peerSettings.SERVICE_SECRET] }, async (process) =>
    createReplyPublisher(process, await openRedis(process, redisConfig)),
  );
  return {
    send: (channel, ...replies) => {
      for (const reply of replies) process.started.publish(channel, reply);
    },
    stop: () => process.stop(),
  };
}
