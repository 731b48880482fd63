import type { Output } from '../models.ts';

const formats: Readonly<Record<Output['format'], string>> = {
  markdown: '',
  table: 'Format of the answer: a markdown table wherever the answer has rows, and as little prose as possible.',
  text: 'Format of the answer: plain text without any markup.',
  json: 'Format of the answer: one fenced json block and nothing else.',
};

const charts =
  'Where a chart helps, add a fenced vega-lite block: a Vega-Lite v5 specification whose data.values are rows that you queried. ' +
  'Never invent rows.';

/** How an agent's answers are to look, for its system prompt; '' where models do so by themselves. */
export const outputInstructions = (output: Output): string =>
  [formats[output.format], output.charts ? charts : ''].filter((line) => line !== '').join('\n');
