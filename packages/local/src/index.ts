export { LocalError } from './host/local-error.ts';
export { freePort } from './host/ports.ts';
export type { ManagedProcess } from './processes/managed.ts';
export { type CatalogueEntry, catalogue } from './system/catalogue.ts';
export { type LocalOptions, type LocalSystem, startLocalSystem } from './system/system.ts';
