import { embeddedV4 } from './embedded-v4.ts';
import { type IpAddress, parseIp } from './ip-address.ts';
import { type IpNetwork, isWithin } from './ip-network.ts';
import { forbidden, internal, publicV6 } from './special-networks.ts';

const among = (address: IpAddress, networks: readonly IpNetwork[]) => networks.some((network) => isWithin(address, network));

/** Whether an outgoing connection that a caller asked for may go to this address. What can not be read may not. */
export function isReachable(text: string, allowed: readonly IpNetwork[]): boolean {
  const address = parseIp(text);
  return address !== undefined && judge(address, allowed);
}

function judge(address: IpAddress, allowed: readonly IpNetwork[]): boolean {
  const inner = embeddedV4(address);
  // An IPv4 address in another coat is that address, whichever coat an operator listed.
  if (isMapped(address)) return inner.every((each) => judge(each, allowed));
  if (among(address, forbidden) || inner.some((each) => among(each, forbidden))) return false;
  if (among(address, allowed)) return true;
  if (address.length === 16 && !among(address, publicV6)) return false;
  return !among(address, internal) && inner.every((each) => judge(each, allowed));
}

const isMapped = (address: IpAddress) => address.length === 16 && address.slice(0, 10).every((byte) => byte === 0) && isFull(address);
const isFull = (address: IpAddress) => address[10] === 0xff && address[11] === 0xff;
