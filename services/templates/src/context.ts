import type { Client } from '@agent-service/contracts';
import type { Cursors } from '@agent-service/store/cursors';
import type { Catalogue } from './catalogue/catalogue.ts';
import type { Template } from './domain/template.ts';

/** What the methods of this service work with. */
export interface TemplatesContext {
  readonly catalogue: Catalogue;
  readonly agents: Client<'agents'>;
  readonly cursors: Cursors;
  /** What an answer of this tier costs, for people. */
  readonly costOf: (tier: Template['model']) => string;
}
