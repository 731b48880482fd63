import type { CatalogueEntry } from './catalogue.ts';

/** The entries that run with these settings. Nobody is told the address of a service that does not. */
export function enabledEntries(catalogue: readonly CatalogueEntry[], settings: Readonly<NodeJS.ProcessEnv>): readonly CatalogueEntry[] {
  const isOff = ({ enabledBy }: CatalogueEntry) => enabledBy !== undefined && settings[enabledBy] !== 'true';
  const off = new Set(catalogue.filter(isOff).map(({ name }) => name));
  const running = catalogue.filter(({ name }) => !off.has(name));
  return running.map((entry) => ({ ...entry, needs: entry.needs.filter((service) => !off.has(service)) }));
}
