export { AddressRefused, guardedLookup } from './guarded-lookup.ts';
export type { IpNetwork } from './ip-network.ts';
export { isReachable } from './judge-address.ts';
export { networksSetting } from './networks-setting.ts';
export { createResolve, type Resolve } from './resolve-name.ts';
export { refusalOfTarget } from './resolve-target.ts';
