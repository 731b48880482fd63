import type { ProcessContext } from '@agent-service/runtime';
import { startSweep } from '@agent-service/store';
import type { ServiceDeps } from '../shared/deps.ts';
import { reportOrphanedClaims, stepAuditStatements } from './store/step-audit.ts';
import { removeOldClaims, stepStatements } from './store/steps.ts';

export { checkScope, createSources, findMissingTables, type Sources, type TenantCatalog } from './sources.ts';
export { DataSourceEntity, sealedUrls } from './store/data-sources.ts';
export { AnswerStepEntity } from './store/steps.ts';

export function startStepSweeps(process: ProcessContext, { store, now }: Pick<ServiceDeps, 'store' | 'now'>): void {
  startSweep(process, 'lost steps', 1_000, () => reportOrphanedClaims(store, now()), 4_000);
  startSweep(process, 'old steps', 60_000, () => removeOldClaims(store.sql, now()));
}

export const dataSourceStatements = { ...stepStatements, ...stepAuditStatements };
