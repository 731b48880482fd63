export { type Batcher, createBatcher, type FailureKind, type TenantLanes } from './batcher.ts';
export { createBackoff, type RetryPolicy, retry } from './retry.ts';
export { createSemaphore, type Semaphore, SemaphoreError } from './semaphore.ts';
export { callByTenant, createSlowTenants, SlowTenantError, type SlowTenants, type TenantKey, tenantName } from './tenants.ts';
export { abortable, sleep, timerMs, withTimeout } from './timing.ts';
