import { testRedis } from '@agent-service/testkit';
import { answerMessage, type MessageItem, pending, type ReplySender, replySender, started, usualAgents } from './agents-peer.ts';
import { admit, apiKey, caller, type Gateway, startGateway } from './gateway.ts';
import { type Answer, ask } from './http.ts';
import { type Peer, startPeer } from './peer.ts';

export const token = apiKey('m');
export const path = '/v1/agents/agt_1/messages';
/** The wait limit of the second gateway; the first waits longer. */
const waitSeconds = 2;

export const unlimited = { RATE_LIMIT_MESSAGES_PER_MINUTE: '100000' };

/** Two gateways in this process on one peer, which a test scripts, and the channel on which answers are published. */
export interface MessageWorld {
  readonly peer: Peer;
  readonly gateways: readonly [Gateway, Gateway];
  readonly replies: ReplySender;
  readonly redisUrl: string;
  post(json?: object, headers?: Record<string, string>, gateway?: Gateway): Promise<Answer>;
  /** Accepts every message and has its answer published; returns the items that it accepts. */
  answering(reply?: (item: MessageItem) => ReturnType<typeof answerMessage>): MessageItem[];
  /** Sets the peer's usual script. */
  reset(): void;
  stop(): Promise<void>;
}

export async function startMessageWorld(): Promise<MessageWorld> {
  const peer = await startPeer();
  admit(peer, { [token]: caller('m') });
  const redisUrl = (await testRedis()).url;
  const gateways: [Gateway, Gateway] = [
    await startGateway(peer, redisUrl, unlimited),
    await startGateway(peer, redisUrl, { ...unlimited, ANSWER_WAIT_SECONDS: String(waitSeconds) }),
  ];
  const replies = await replySender(redisUrl);
  return {
    peer,
    gateways,
    replies,
    redisUrl,
    post: (json = { message: 'How much?' }, headers = {}, gateway = gateways[0]) =>
      ask(gateway.url, path, { method: 'POST', token, json, headers }),
    answering(reply = ({ answerId }) => answerMessage(answerId)) {
      const items: MessageItem[] = [];
      peer.agents.start = (item) => {
        items.push(item);
        setImmediate(() => replies.send(item.replyChannel, { kind: 'ended', id: item.answerId, message: reply(item) }));
        return started(item.answerId);
      };
      peer.agents.read = (answerId) => ({ message: pending(answerId), attempt: 1 });
      return items;
    },
    reset: () => void Object.assign(peer.agents, usualAgents()),
    async stop() {
      await replies.stop();
      await Promise.all(gateways.map((gateway) => gateway.stop()));
      await peer.stop();
    },
  };
}

/** A handler that must not be called. */
export const never = () => {
  throw new Error('this must not be called');
};
