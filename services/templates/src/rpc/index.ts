import type { Implementation } from '@agent-service/contracts';
import { activateTemplate, deactivateTemplate, duplicateTemplate } from './activation.ts';
import type { TemplatesContext } from './context.ts';
import { getTemplate, listTemplates } from './reading.ts';

/** Every method of the contract. */
export const implementation = (context: TemplatesContext): Implementation<'templates'> => ({
  activateTemplate: activateTemplate(context),
  deactivateTemplate: deactivateTemplate(context),
  duplicateTemplate: duplicateTemplate(context),
  getTemplate: getTemplate(context),
  listTemplates: listTemplates(context),
});
