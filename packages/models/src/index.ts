export { createModels, type ModelsOptions } from './create-models.ts';
export type { AnswerOptions, JsonSchema, ModelAnswer, ModelRequest, Models, Output, Provider, Tool, Turn } from './models.ts';
export type { Endpoint, ModelsFile } from './models-file.ts';
export { type Tier, tiers } from './tiers.ts';
