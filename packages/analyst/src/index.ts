export { answerQuestion, type Question, signature } from './answer-question.ts';
export type { Tool } from './data/tool-data.ts';
export type { Output } from './presentation.ts';
