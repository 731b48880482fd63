import type { Reply, ToolStep } from '@agent-service/queues';
import { createTicker, type Ticker } from './ticker.ts';

/** What those who read along get of one attempt. */
export interface Reader {
  /** Once before all else. */
  started(): void;
  /** The first at once, what follows joined. */
  delta(text: string): void;
  /** A step that was taken; what was said before it goes out before it. */
  tool(step: ToolStep): void;
  /** What was read is void. */
  restart(): void;
  /** What is still held back goes out. */
  end(): void;
  /** What is still held back is dropped. */
  drop(): void;
}

export interface Replies {
  readerOf(id: string, attempt: number, channels: readonly string[]): Reader;
}

type Publish = (channel: string, reply: Reply) => void;

export function createReplies(publish: Publish): Replies {
  const ticker = createTicker();
  return {
    readerOf(id, attempt, channels) {
      if (channels.length === 0) return nobody;
      return reader(ticker, { id, attempt }, (reply) => {
        for (const channel of channels) publish(channel, reply);
      });
    },
  };
}

const nothing = () => undefined;
const nobody: Reader = { started: nothing, delta: nothing, tool: nothing, restart: nothing, end: nothing, drop: nothing };

function reader(ticker: Ticker, attempt: { id: string; attempt: number }, send: (reply: Reply) => void): Reader {
  let held = '';
  let read = false;
  let restarts = 0;

  const run = () => ({ ...attempt, ...(restarts > 0 && { restarts }) });

  const sendHeld = (length: number) => {
    const text = held.slice(0, length);
    held = held.slice(length);
    if (text === '') return;
    read = true;
    send({ kind: 'delta', ...run(), text });
  };
  // Half a character would be shown as a broken one; its other half is under way.
  const sendWhole = () => sendHeld(endsInHalf(held) ? held.length - 1 : held.length);
  const started = () => send({ kind: 'started', ...run() });
  const drop = () => {
    held = '';
    ticker.remove(sendWhole);
  };

  return {
    started,
    delta(text) {
      held += text;
      if (read) ticker.add(sendWhole);
      else sendWhole();
    },
    tool(step) {
      sendWhole();
      send({ kind: 'tool', ...run(), step });
    },
    restart() {
      drop();
      if (!read) return;
      read = false;
      restarts += 1;
      started();
    },
    end() {
      ticker.remove(sendWhole);
      sendHeld(held.length);
    },
    drop,
  };
}

const endsInHalf = (text: string) => /[\ud800-\udbff]$/.test(text);
