import { type Client, ServiceError } from '@agent-service/contracts';
import type { Cursors } from '@agent-service/store/cursors';
import type { Catalogue } from '../catalogue/catalogue.ts';
import type { Template } from '../domain/template.ts';

/** Dependencies of the methods of this service. */
export interface TemplatesContext {
  readonly catalogue: Catalogue;
  readonly agents: Client<'agents'>;
  readonly cursors: Cursors;
  /** The cost of an answer of this tier, as a text for people. */
  readonly costOf: (tier: Template['model']) => string;
}

/** The template with this id; an unknown id is a 404. */
export function requireTemplate({ catalogue }: TemplatesContext, id: string): Template {
  const template = catalogue.find(id);
  if (!template) throw new ServiceError('not_found');
  return template;
}
