import type { LanguageModelV4Usage } from '@ai-sdk/provider';
import { estimateTokens } from '../prompt/tokens.ts';
import type { Step } from './step.ts';

export interface Usage {
  readonly inputTokens: number;
  readonly outputTokens: number;
}

const mostTokens = 1_000_000_000;

/** With the tokens of one more step: the provider's count where it gives one that can be true, an estimate otherwise. */
export function addUsage(sum: Usage, { usage, text, reasoning, calls }: Step, promptTokens: number): Usage {
  const said = [text, reasoning, ...calls.map(({ toolName, input }) => toolName + input)].join('');
  return {
    inputTokens: sum.inputTokens + counted(usage.inputTokens, promptTokens),
    outputTokens: sum.outputTokens + counted(usage.outputTokens, estimateTokens(said)),
  };
}

/** Neither a prompt nor an answer has no tokens at all, so that 0 stands for what was not counted. */
function counted({ total }: LanguageModelV4Usage['inputTokens'] | LanguageModelV4Usage['outputTokens'], estimate: number): number {
  return total !== undefined && Number.isSafeInteger(total) && total > 0 && total <= mostTokens ? total : estimate;
}
