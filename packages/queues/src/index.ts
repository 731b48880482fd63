export type { Reply, ToolStep, WorkerNotice } from './replies.ts';
