import type { Implementation } from '@agent-service/contracts';
import type { TemplatesContext } from '../context.ts';
import { activateTemplate } from './activate-template.ts';
import { deactivateTemplate } from './deactivate-template.ts';
import { duplicateTemplate } from './duplicate-template.ts';
import { getTemplate } from './get-template.ts';
import { listTemplates } from './list-templates.ts';

/** Every method of the contract, each in the file of its name. */
export const implementation = (context: TemplatesContext): Implementation<'templates'> => ({
  activateTemplate: activateTemplate(context),
  deactivateTemplate: deactivateTemplate(context),
  duplicateTemplate: duplicateTemplate(context),
  getTemplate: getTemplate(context),
  listTemplates: listTemplates(context),
});
