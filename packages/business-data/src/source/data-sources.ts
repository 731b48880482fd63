import type { ProcessContext } from '@agent-service/runtime';
import { createDataSource, type DataSource, type DataSourceSettings, listenersOf } from './data-source.ts';

/** The data sources of many organizations, each opened when first asked for. */
export interface DataSources {
  /** The source under this key; one with other settings than before takes the old one's place. */
  get(key: string, settings: DataSourceSettings): DataSource;
  /** Closes one that was removed. */
  remove(key: string): void;
}

const mostSources = 200;

interface Entry {
  readonly settings: string;
  readonly source: DataSource;
}

/** At most `max` are kept open: the one not used for longest goes first, after what runs on it has ended. */
export function openDataSources(process: ProcessContext, max = mostSources): DataSources {
  const entries = new Map<string, Entry>();
  const closing = new Set<Promise<void>>();
  const listeners = listenersOf(process);

  function close(key: string): void {
    const entry = entries.get(key);
    if (entry === undefined) return;
    entries.delete(key);
    const closed = entry.source
      .close()
      .catch(listeners.onLost)
      .finally(() => closing.delete(closed));
    closing.add(closed);
  }

  process.onStop('data sources', async () => {
    for (const key of [...entries.keys()]) close(key);
    await Promise.all(closing);
  });
  return {
    get(key, settings) {
      const wanted = JSON.stringify(settings);
      const kept = entries.get(key);
      if (kept?.settings !== wanted) close(key);
      const entry = kept?.settings === wanted ? kept : { settings: wanted, source: createDataSource(settings, listeners) };
      entries.delete(key);
      entries.set(key, entry);
      const [oldest] = entries.keys();
      if (entries.size > max && oldest !== undefined) close(oldest);
      return entry.source;
    },
    remove: close,
  };
}
