import { parseTableScope } from '@agent-service/contracts/agents/data-scope';
import type { Catalog } from './domain/catalog.ts';
import { type Resolution, resolveEntries } from './domain/scope.ts';
import { touch } from './domain/touch.ts';

/** Tables that an agent may read: `orders`, `orders(id, total)`, `sales.orders`; and whether it may only read. */
export interface DataScope {
  readonly tables: readonly string[];
  readonly readOnly: boolean;
}

/** A wide scope takes milliseconds to resolve and to send to a thread; agents of one data source are few. */
const mostKept = 20;
const resolutions = new WeakMap<Catalog, Map<string, Resolution>>();

/** The part of the scope that the data source can satisfy, and the entries that it cannot. The same object for the same catalog. */
export function resolveScope(catalog: Catalog, { tables, readOnly }: DataScope): Resolution {
  const kept = resolutions.get(catalog) ?? new Map<string, Resolution>();
  resolutions.set(catalog, kept);
  const key = JSON.stringify([tables, readOnly]);
  const resolution = kept.get(key) ?? resolveNow(catalog, { tables, readOnly });
  touch(kept, key, resolution, mostKept);
  return resolution;
}

const resolveNow = (catalog: Catalog, { tables, readOnly }: DataScope): Resolution =>
  resolveEntries(
    catalog,
    tables.map((text) => ({ text, entry: parseTableScope(text) })),
    readOnly,
  );
