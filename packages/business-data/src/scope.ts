import { parseTableScope } from '@agent-service/contracts/data-scope';
import type { Catalog } from './domain/catalog.ts';
import { type Resolution, resolveEntries } from './domain/scope.ts';

/** What an agent may read: `orders`, `orders(id, total)`, `sales.orders`; and whether it may only read. */
export interface DataScope {
  readonly tables: readonly string[];
  readonly readOnly: boolean;
}

/** The scope as far as the data source can satisfy it, and what of it the data source can not. */
export function resolveScope(catalog: Catalog, { tables, readOnly }: DataScope): Resolution {
  return resolveEntries(
    catalog,
    tables.map((text) => ({ text, entry: parseTableScope(text) })),
    readOnly,
  );
}
