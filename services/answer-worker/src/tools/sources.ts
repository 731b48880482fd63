import { type DataSource, type DataSourceSettings, openDataSources, toDataSourceSettings } from '@agent-service/business-data';
import type { ProcessContext } from '@agent-service/runtime';
import { tenantName } from '@agent-service/work';
import type { AnswerKey } from '../answers-api.ts';
import type { Steps } from './steps.ts';

/** The databases of the tenants whose answers are in hand here, each opened once and kept for the next answer. */
export interface TenantSources {
  /** The database of this version or a later one; undefined where none is connected any more. */
  of(answer: AnswerKey, version: number, steps: Steps): Promise<DataSource | undefined>;
}

/** Many answers may ask one database at once: who waits for those before it does not take the database for one that is away. */
const settings = { poolMax: 5, connectTimeoutMs: 3_000, queueTimeoutMs: 30_000, applicationName: 'agent-service answers' };
/** More than are kept open; who comes again is asked for again. */
const mostKnown = 1_000;

interface Known {
  readonly url: string;
  readonly caCertificate: string;
  readonly version: number;
  readonly allowSuperuser: boolean;
}

interface SourceOptions {
  /** Whether statements run under a role for each scope, where the database lets us make one. */
  readonly roles: 'auto' | 'off';
}

export function createTenantSources(process: ProcessContext, { roles }: SourceOptions): TenantSources {
  const open = openDataSources(process);
  const known = new Map<string, Known>();

  const connectionOf = (tenant: string, { url, caCertificate: ca, version, allowSuperuser }: Known): DataSourceSettings => ({
    ...settings,
    ...toDataSourceSettings({ url, ca, allowSuperuser }),
    version,
    ...(roles === 'auto' && { roles: { tenant } }),
  });

  function keep(tenant: string, found: Known): Known {
    const before = known.get(tenant);
    const newest = before && before.version > found.version ? before : found;
    known.delete(tenant);
    known.set(tenant, newest);
    const [oldest] = known.keys();
    if (known.size > mostKnown && oldest !== undefined) known.delete(oldest);
    return newest;
  }

  function forget(tenant: string): undefined {
    known.delete(tenant);
    open.remove(tenant);
  }

  return {
    async of(answer, version, steps) {
      const tenant = tenantName(answer);
      if (version === 0) return forget(tenant);
      const kept = known.get(tenant);
      if (kept && kept.version >= version) return open.get(tenant, connectionOf(tenant, kept));
      const found = await steps.source();
      if (!found) return forget(tenant);
      return open.get(tenant, connectionOf(tenant, keep(tenant, found)));
    },
  };
}
