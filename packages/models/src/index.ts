export { createModels } from './create-models.ts';
export type { JsonSchema, ModelAnswer, ModelRequest, Models, Output, Tool } from './models.ts';
export { type Tier, tiers } from './models-file.ts';
