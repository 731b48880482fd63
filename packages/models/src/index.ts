export type { AnswerOptions, JsonSchema, ModelAnswer, ModelRequest, Models, Output, Provider, Tool, Turn } from './contract/models.ts';
export type { Endpoint, ModelsFile } from './contract/models-file.ts';
export { type Tier, tiers } from './contract/tiers.ts';
export { createModels, type ModelsOptions } from './create-models.ts';
