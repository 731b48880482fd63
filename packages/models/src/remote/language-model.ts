import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type { LanguageModelV4 } from '@ai-sdk/provider';
import type { Endpoint } from '../models-file.ts';
import type { Send } from './transport.ts';

/** The AI SDK's client of an endpoint; without a key it sends none, and it looks for none in the environment. */
export function languageModel(endpoint: Endpoint, apiKey: string | undefined, send: Send): LanguageModelV4 {
  const { provider, baseUrl: baseURL, model } = endpoint;
  switch (provider) {
    case 'anthropic':
      return createAnthropic({ baseURL, apiKey: apiKey ?? '', fetch: send })(model);
    case 'openai-compatible':
      return createOpenAICompatible({
        name: 'model',
        baseURL,
        includeUsage: true,
        fetch: send,
        ...(apiKey === undefined ? {} : { apiKey }),
        ...(endpoint.outputLimitParameter === 'max_tokens' ? {} : { transformRequestBody: renameLimit }),
      }).chatModel(model);
  }
}

const renameLimit = ({ max_tokens, ...body }: Record<string, unknown>) => ({ ...body, max_completion_tokens: max_tokens });
