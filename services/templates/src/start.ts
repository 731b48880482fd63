import { openClient, serve } from '@agent-service/contracts';
import { costEstimate, readModelsFile } from '@agent-service/models/models-file';
import type { ProcessContext } from '@agent-service/runtime';
import { createCursors } from '@agent-service/store/cursors';
import { loadCatalogue } from './catalogue.ts';
import type { TemplatesConfig } from './config.ts';
import { implementation } from './rpc/templates.ts';

/** Composes the service; resolves to its gRPC port. */
export async function start(process: ProcessContext, config: TemplatesConfig): Promise<number> {
  const [catalogue, { tiers }] = await Promise.all([loadCatalogue(config.TEMPLATES_DIR), readModelsFile(config.MODELS_FILE)]);
  process.logger.info({ event: 'catalogue_loaded', templates: catalogue.all.length });
  const agents = openClient(process, 'agents', { address: config.AGENTS_ADDRESS, as: 'templates', config });
  process.health.addCheck('agents', () => agents.checkSignature());
  process.health.addImpairment(() => !agents.isReachable());
  const deps = {
    catalogue,
    agents,
    cursors: createCursors(config.CURSOR_SECRET),
    costOf: (tier: keyof typeof tiers) => costEstimate(tiers[tier].price),
  };
  return await serve(process, config, 'templates', implementation(deps));
}
