import type { Reply, ToolStep } from './replies.ts';

/** Writes the replies of one attempt to the gateways that stream it. */
export interface ReplyWriter {
  /** Called once, before everything else. */
  started(): void;
  /** Sends the first delta at once, and joins those that follow. */
  delta(text: string): void;
  /** Sends a tool step, after the text before it. */
  tool(step: ToolStep): void;
  /** The model starts again, so everything sent so far is void. */
  restart(): void;
  /** Sends the pending text. */
  end(): void;
  /** Drops the pending text. */
  drop(): void;
}

export interface ReplyWriters {
  /** A writer to these channels, which does nothing if there are none. */
  writerTo(id: string, attempt: number, channels: readonly string[]): ReplyWriter;
}

type Publish = (channel: string, reply: Reply) => void;

export function createReplyWriters(publish: Publish): ReplyWriters {
  const ticker = createTicker();
  return {
    writerTo(id, attempt, channels) {
      if (channels.length === 0) return noWriter;
      return createWriter(ticker, { id, attempt }, (reply) => {
        for (const channel of channels) publish(channel, reply);
      });
    },
  };
}

const doNothing = () => undefined;
const noWriter: ReplyWriter = {
  started: doNothing,
  delta: doNothing,
  tool: doNothing,
  restart: doNothing,
  end: doNothing,
  drop: doNothing,
};

function createWriter(ticker: Ticker, attempt: { id: string; attempt: number }, send: (reply: Reply) => void): ReplyWriter {
  let pending = '';
  let hasSentText = false;
  let restarts = 0;

  const ids = () => ({ ...attempt, ...(restarts > 0 && { restarts }) });

  const sendPending = (length: number) => {
    const text = pending.slice(0, length);
    pending = pending.slice(length);
    if (text === '') return;
    hasSentText = true;
    send({ kind: 'delta', ...ids(), text });
  };
  // The first half of a surrogate pair waits for the second.
  const sendWhole = () => sendPending(endsInHalfPair(pending) ? pending.length - 1 : pending.length);
  const started = () => send({ kind: 'started', ...ids() });
  const drop = () => {
    pending = '';
    ticker.remove(sendWhole);
  };

  return {
    started,
    delta(text) {
      pending += text;
      if (hasSentText) ticker.add(sendWhole);
      else sendWhole();
    },
    tool(step) {
      sendWhole();
      send({ kind: 'tool', ...ids(), step });
    },
    restart() {
      drop();
      if (!hasSentText) return;
      hasSentText = false;
      restarts += 1;
      started();
    },
    end() {
      ticker.remove(sendWhole);
      sendPending(pending.length);
    },
    drop,
  };
}

const endsInHalfPair = (text: string) => /[\ud800-\udbff]$/.test(text);

const tickMs = 20;

/** Runs work after `tickMs`, with one timer for all writers. */
interface Ticker {
  /** Has no effect for work that is already waiting. */
  add(work: () => void): void;
  remove(work: () => void): void;
}

function createTicker(): Ticker {
  const waiting = new Set<() => void>();
  let isArmed = false;

  function tick(): void {
    isArmed = false;
    const due = [...waiting];
    waiting.clear();
    for (const work of due) work();
  }

  return {
    add(work) {
      waiting.add(work);
      if (isArmed) return;
      isArmed = true;
      setTimeout(tick, tickMs);
    },
    remove: (work) => void waiting.delete(work),
  };
}
