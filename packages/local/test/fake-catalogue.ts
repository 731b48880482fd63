import { fileURLToPath } from 'node:url';
import { type CatalogueEntry, catalogue } from '../src/system/catalogue.ts';

const entry = fileURLToPath(new URL('./fake-service.mjs', import.meta.url));
const named = new Set(['identity', 'gateway', 'answer-worker']);

/** The real entries of one service of each kind, with a fake behind each; the worker works with the service that there is. */
export const fakeCatalogue: readonly CatalogueEntry[] = catalogue
  .filter(({ name }) => named.has(name))
  .map((real) => ({
    ...real,
    entry,
    settings: [...real.settings, 'FAKE_FAILS'],
    needs: ['identity'].filter((name) => name !== real.name),
  }));
