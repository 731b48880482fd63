import { type DataSource, type DataSourceSettings, openDataSources, toDataSourceSettings } from '@agent-service/business-data';
import type { IpNetwork } from '@agent-service/outbound';
import type { ProcessContext } from '@agent-service/runtime';
import { tenantName } from '@agent-service/work';
import { LRUCache } from 'lru-cache';
import type { AnswerKey } from '../answers-api.ts';
import type { SourceSettings, Steps } from './steps.ts';

/** The databases of the tenants with answers in flight; each is opened once and stays open for the next answer. */
export interface TenantSources {
  /**
   * The database of this version, or the one that is connected by now; undefined where none is. A version may also be an earlier one than
   * before: a failover can lose the last commits.
   */
  of(answer: AnswerKey, version: number, steps: Steps): Promise<DataSource | undefined>;
}

/** Many answers may use one database at once; waiting for a connection may take longer than connecting. */
const settings = { poolMax: 5, connectTimeoutMs: 3_000, queueTimeoutMs: 30_000, applicationName: 'agent-service answers' };
/** Connection settings that are cached, more than open databases. */
const maxCached = 1_000;

interface SourceOptions {
  /** `auto` runs statements under a role for each scope, where the database allows us to make one. */
  readonly roles: 'auto' | 'off';
  /** Private networks that data sources connected in the portal may lead to. */
  readonly allowedNetworks: readonly IpNetwork[];
}

export function createTenantSources(process: ProcessContext, { roles, allowedNetworks }: SourceOptions): TenantSources {
  const open = openDataSources(process);
  const known = new LRUCache<string, SourceSettings>({ max: maxCached });

  const connectionOf = (
    tenant: string,
    { url, caCertificate: ca, version, allowSuperuser, guarded = false }: SourceSettings,
  ): DataSourceSettings => ({
    ...settings,
    ...toDataSourceSettings({ url, ca, allowSuperuser, guarded }, allowedNetworks),
    version,
    ...(roles === 'auto' && { roles: { tenant } }),
  });

  function forget(tenant: string): undefined {
    known.delete(tenant);
    open.remove(tenant);
  }

  return {
    async of(answer, version, steps) {
      const tenant = tenantName(answer);
      if (version === 0) return forget(tenant);
      const cached = known.get(tenant);
      if (cached?.version === version) return open.get(tenant, connectionOf(tenant, cached));
      const loaded = await steps.loadSource();
      if (!loaded) return forget(tenant);
      // A reply without `guarded` is of the release before: the next step asks again.
      if (loaded.guarded !== undefined) known.set(tenant, loaded);
      return open.get(tenant, connectionOf(tenant, loaded));
    },
  };
}
