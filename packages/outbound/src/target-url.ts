import { type IpNetwork, parseIp } from './ip-network.ts';
import type { Resolve } from './name-lookup.ts';
import { isReachable } from './reachable-address.ts';

const maxUrlLength = 2_048;

/** Names that are resolved only inside a machine or network. */
const localNames =
  /^(localhost|ip6-.*|broadcasthost)$|(^|\.)(localhost|localdomain|local|internal|intranet|private|corp|home|lan|arpa|invalid|onion)$/;

type UrlCheck =
  | {
      ok: true;
      /** Empty for an address. */
      name: string;
      /** Allowed only when it resolves to a listed network. */
      local: boolean;
    }
  | { ok: false; reason: string };

const refuse = (reason: string): UrlCheck => ({ ok: false, reason });

/**
 * Checks a caller's URL by its text; `refusalOfTarget` also checks the addresses of its name. The URL parser of the platform, which the
 * request uses as well, normalizes all spellings of an address.
 */
export function checkUrl(text: string, allowed: readonly IpNetwork[]): UrlCheck {
  const spelling = spellingFault(text);
  if (spelling) return refuse(spelling);
  const url = new URL(text);
  if (authorityOf(text).includes('@')) return refuse('must not contain a user or password');
  if (text.includes('#')) return refuse('must not contain a fragment');
  if (url.port === '0') return refuse('must not name port 0');
  return checkHost(url, allowed);
}

function spellingFault(text: string): string | undefined {
  if (text.length > maxUrlLength) return `must have at most ${maxUrlLength} characters`;
  // Refuse characters that the parser drops or rewrites silently, so that the URL is what it looks like.
  if (/[\s\\]/.test(text) || hasControls(text)) return 'must not contain spaces, control characters or backslashes';
  if (!/^https:\/\/[^/?#]/i.test(text)) return 'must be a URL that begins with https:// and names a host';
  if (!URL.canParse(text)) return 'must be a URL with a host that can exist';
  return undefined;
}

const hasControls = (text: string) => [...text].some((character) => character < '!' || character === '\x7f');
const authorityOf = (text: string) => /^[^:]*:\/\/([^/?#]*)/.exec(text)?.[1] ?? '';

function checkHost(url: URL, allowed: readonly IpNetwork[]): UrlCheck {
  const literal = url.hostname.startsWith('[') ? url.hostname.slice(1, -1) : url.hostname;
  const name = literal.endsWith('.') ? literal.slice(0, -1) : literal;
  if (parseIp(name)) {
    return isReachable(name, allowed) ? { ok: true, name: '', local: false } : refuse('must not lead to a private or reserved address');
  }
  if (name.length > 253 || !name.split('.').every(isLabel)) return refuse('must name a host by letters, digits and hyphens');
  const local = !name.includes('.') || localNames.test(name);
  return local && allowed.length === 0 ? refuse('must not lead to a host of the local network') : { ok: true, name, local };
}

const isLabel = (label: string) => /^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$/.test(label);

/**
 * Why requests may not be sent to this URL, or undefined. A name without an address is accepted, unless it is local: the address is
 * checked again at each connection.
 */
export async function refusalOfTarget(text: string, allowed: readonly IpNetwork[], resolve: Resolve): Promise<string | undefined> {
  const verdict = checkUrl(text, allowed);
  if (!verdict.ok) return verdict.reason;
  if (verdict.name === '') return undefined;
  const addresses = await resolve(verdict.name).catch(() => []);
  if (verdict.local && addresses.length === 0) return 'must not lead to a host of the local network';
  return addresses.every((address) => isReachable(address, allowed)) ? undefined : 'must not lead to a private or reserved address';
}
