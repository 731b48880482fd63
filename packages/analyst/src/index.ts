export type { Output, Result } from './answer/presentation.ts';
export { type AnalystAnswer, answerQuestion, type Question, signature } from './answer-question.ts';
export type { Tool } from './tools.ts';
