import { formatTableScope, parseTableScope } from '@agent-service/contracts/agents/data-scope';
import { type Catalog, type CatalogTable, quoteIfNeeded } from './catalog.ts';
import { editDistance } from './edit-distance.ts';

const shownNames = 20;
const maxCompared = 1_000;

/** For an entry of a scope that the data source cannot satisfy: the nearest name, and the names that there are. Empty where it has another fault. */
export function suggestNames(catalog: Catalog, text: string): string {
  const entry = parseTableScope(text);
  if (entry === undefined) return '';
  const schema = entry.schema ?? catalog.defaultSchema;
  const table = catalog.tables.find((each) => each.name === entry.table && each.schema === schema);
  if (table === undefined) {
    const names = catalog.tables.map((each): Name => {
      const name = each.schema === catalog.defaultSchema ? each.name : `${each.schema}.${each.name}`;
      return { name, written: nameInScope(catalog, each) };
    });
    return suggestion(entry.schema === null ? entry.table : `${entry.schema}.${entry.table}`, names, 'tables');
  }
  const columns = table.columns.map(({ name }) => name);
  const missing = entry.columns?.find((name) => !columns.includes(name));
  const names = columns.map((name): Name => ({ name, written: quoteIfNeeded(name) }));
  return missing === undefined ? '' : suggestion(missing, names, 'columns');
}

/** The table as an entry of a data scope names it. */
export const nameInScope = ({ defaultSchema }: Catalog, { schema, name }: CatalogTable): string =>
  formatTableScope({ schema: schema === defaultSchema ? null : schema, table: name, columns: null });

interface Name {
  readonly name: string;
  /** As an entry of a scope has it: in quotes where it has capitals. */
  readonly written: string;
}

function suggestion(target: string, names: readonly Name[], what: string): string {
  if (names.length === 0) return `There are no ${what}.`;
  const distances = names
    .slice(0, maxCompared)
    .map(({ name, written }) => ({ written, distance: editDistance(target.toLowerCase(), name.toLowerCase()) }));
  const nearest = distances.reduce((best, each) => (each.distance < best.distance ? each : best));
  const isNear = nearest.distance <= Math.max(1, Math.floor(target.length / 3));
  const rest = names.length > shownNames ? ` and ${names.length - shownNames} more` : '';
  const list = `The ${what} are: ${names
    .slice(0, shownNames)
    .map(({ written }) => written)
    .join(', ')}${rest}`;
  return isNear ? `Did you mean ${nearest.written}? ${list}` : list;
}
