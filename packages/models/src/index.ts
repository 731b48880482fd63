export { createModels, type ModelsOptions } from './create-models.ts';
export type { AnswerOptions, JsonSchema, ModelAnswer, ModelRequest, Models, Output, Provider, Tool, Turn } from './models.ts';
export { type Endpoint, type ModelsFile, type Tier, tiers } from './models-file.ts';
