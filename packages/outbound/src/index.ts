export { type IpNetwork, isWithin, networksSetting, parseIp, parseNetwork } from './ip-network.ts';
export { JoinedBytes } from './joined-bytes.ts';
export { limitedFetch } from './limited-fetch.ts';
export { AddressRefused, createResolve, guardedLookup, type Resolve } from './name-lookup.ts';
export { isReachable } from './reachable-address.ts';
export { limitInformational, tlsLimits } from './server-limits.ts';
export { refusalOfTarget } from './target-url.ts';
