export type { Output } from './answer/presentation.ts';
export { answerQuestion } from './answer-question.ts';
