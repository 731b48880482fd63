/** Bytes of results that one process holds at a time, for all tenants together. */
export interface ResultBudget {
  of(tenant: string): TenantBudget;
}

export interface TenantBudget {
  /** The use of one query or change. */
  open(): ResultUse;
}

export interface ResultUse {
  /** Takes bytes of the budget. Returns false, and takes none, when the tenant has its share or the budget is used up. */
  take(bytes: number): boolean;
  /** Returns everything that was taken. Called when the result is no longer needed. */
  release(): void;
}

/**
 * A tenant may hold as many bytes as would stay free: one tenant alone gets half of the budget, two a third each, and a tenant that holds
 * nothing always finds room.
 */
export function createResultBudget(maxBytes: number): ResultBudget {
  const byTenant = new Map<string, number>();
  let total = 0;

  function add(tenant: string, bytes: number): void {
    const tenantBytes = (byTenant.get(tenant) ?? 0) + bytes;
    total += bytes;
    if (tenantBytes === 0) byTenant.delete(tenant);
    else byTenant.set(tenant, tenantBytes);
  }

  return {
    of: (tenant) => ({
      open() {
        let ownBytes = 0;
        return {
          take(bytes) {
            if ((byTenant.get(tenant) ?? 0) + bytes > maxBytes - total - bytes) return false;
            ownBytes += bytes;
            add(tenant, bytes);
            return true;
          },
          release() {
            add(tenant, -ownBytes);
            ownBytes = 0;
          },
        };
      },
    }),
  };
}
