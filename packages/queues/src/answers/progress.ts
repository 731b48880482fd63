import type { AnswerMessage } from '@agent-service/contracts';

type News = Exclude<Reply, { kind: 'ended' }>;

/**
 * What of an answer's news a reader is told. The deltas since the last `started` are always a beginning of the newest text: an attempt
 * may begin its text anew, and where a delta may be missing, those after it are held back. The whole message comes at the end anyway.
 */
export class Progress {
  /** The attempt that the reader knows of; 0 before the first. */
  attempt = 0;
  #restarts = 0;
  #begun = false;
  #unbroken = false;
  #ended = false;
  #text = '';

  /** The news to pass on, if this is any. */
  take(reply: Reply): Reply | undefined {
    if (this.#ended) return undefined;
    if (reply.kind === 'ended') {
      this.#ended = true;
      return reply;
    }
    const age = reply.attempt - this.attempt || (reply.restarts ?? 0) - this.#restarts;
    if (age < 0) return undefined;
    if (age > 0) return this.#begin(reply);
    if (reply.kind === 'delta') return this.#add(reply);
    if (reply.kind === 'tool') return reply;
    // Before any delta it is the same word again.
    return this.#begun ? this.#begin(reply) : undefined;
  }

  /** Something may have been lost, or was not passed on. */
  interrupt(): void {
    this.#unbroken = false;
  }

  /** Whether what the reader was told is a beginning of this text; it is not where all news of a later one was lost. */
  isBeginningOf(text: string): boolean {
    return text.startsWith(this.#text);
  }

  #add(delta: Extract<News, { kind: 'delta' }>): Reply | undefined {
    this.#begun = true;
    if (!this.#unbroken) return undefined;
    this.#text += delta.text;
    return delta;
  }

  /** Another text voids what came before, whether or not the word of its beginning was lost. */
  #begin({ kind, id, attempt, restarts = 0 }: News): Reply {
    this.attempt = attempt;
    this.#restarts = restarts;
    this.#begun = kind === 'delta';
    this.#unbroken = kind === 'started';
    this.#text = '';
    return { kind: 'started', id, attempt };
  }
}

/** A step of an answer that a reader may want to see, as the names of the tools and what became of them. */
export interface ToolStep {
  name: string;
  /** What the tool was asked, in a sentence or a statement. */
  detail: string;
  rows: number;
  durationMs: number;
  /** Empty when it went well. */
  error: string;
}

/** Which text of an answer this is of. */
interface OfRun {
  id: string;
  attempt: number;
  /** How often the attempt has begun its text anew; absent for never. Without it a lost `started` would join two texts. */
  restarts?: number;
}

/** What travels on a gateway's reply channel. Lost replies are read back from `agents`. */
export type Reply =
  /** Voids the text so far. */
  | ({ kind: 'started' } & OfRun)
  | ({ kind: 'delta'; text: string } & OfRun)
  | ({ kind: 'tool'; step: ToolStep } & OfRun)
  /** The answer has ended and, where it completed, is paid for. */
  | { kind: 'ended'; id: string; message: AnswerMessage };

/** What travels on a worker's channel. */
export type WorkerNotice = { kind: 'unwanted'; id: string; attempt: number };
