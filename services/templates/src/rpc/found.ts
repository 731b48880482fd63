import { ServiceError } from '@agent-service/contracts';
import type { TemplatesContext } from '../context.ts';
import type { Template } from '../domain/template.ts';

/** The template of this id; that there is none is a 404 for everybody. */
export function found({ catalogue }: TemplatesContext, id: string): Template {
  const template = catalogue.find(id);
  if (!template) throw new ServiceError('not_found');
  return template;
}
