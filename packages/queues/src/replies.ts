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

/** What travels on a gateway's reply channel. Lost replies are read back from `agents`. */
export type Reply =
  | { kind: 'started'; id: string; attempt: number }
  | { kind: 'delta'; id: string; attempt: number; text: string }
  | { kind: 'tool'; id: string; attempt: number; step: ToolStep }
  /** The answer has ended and, where it completed, is paid for. */
  | { kind: 'ended'; id: string; message: AnswerMessage };

/** What travels on a worker's channel. */
export type WorkerNotice = { kind: 'unwanted'; id: string; attempt: number };
