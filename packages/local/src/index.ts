export { type CatalogueEntry, catalogue } from './catalogue.ts';
export { LocalError } from './local-error.ts';
export { freePort } from './ports.ts';
export type { ManagedProcess } from './processes/managed.ts';
export { type LocalOptions, type LocalSystem, startLocalSystem } from './system.ts';
