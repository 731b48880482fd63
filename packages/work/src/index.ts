export { type Batcher, type BatchFailure, createBatcher, type TenantLanes } from './batcher.ts';
export { HealthTracker, redispatchUnbegunWork } from './redispatch.ts';
export { createBackoff, loadOnce, retry } from './retry.ts';
export { RetryQueue, retryDue } from './retry-queue.ts';
export { runBatch } from './run-batch.ts';
export { createSemaphore, type Semaphore, SemaphoreError } from './semaphore.ts';
export { createSlowTenants, type SlowTenants } from './slow-tenants.ts';
export { callByTenant, tenantName, tenantOfName } from './tenants.ts';
export { abortable, sleep, timerMs, withTimeout } from './timing.ts';
