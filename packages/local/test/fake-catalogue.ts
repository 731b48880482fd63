import { fileURLToPath } from 'node:url';
import { type CatalogueEntry, catalogue } from '../src/catalogue.ts';

const entry = fileURLToPath(new URL('./fake-service.mjs', import.meta.url));
const named = new Set(['identity', 'gateway']);

/** The real entries of two services, with a fake behind each. */
export const fakeCatalogue: readonly CatalogueEntry[] = catalogue.filter(({ name }) => named.has(name)).map((real) => ({ ...real, entry }));
