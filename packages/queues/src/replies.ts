import type { AnswerMessage } from '@agent-service/contracts';

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
