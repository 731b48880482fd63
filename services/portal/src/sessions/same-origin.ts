import { hash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { ServiceError } from '@agent-service/contracts';

const safeMethods: readonly (string | undefined)[] = ['GET', 'HEAD'];

export const changesState = ({ method }: IncomingMessage): boolean => !safeMethods.includes(method);

/** The origin of the portal's pages: configured, or that of the address which the browser asked. */
export const originOf = ({ headers }: IncomingMessage, configured: string | undefined): string =>
  configured ?? `http://${headers.host ?? ''}`;

/**
 * Throws if a request that changes state was not sent by a page of the portal: a browser says so in Sec-Fetch-Site, and in Origin.
 * A request with neither of them is refused.
 */
export function requireSameOrigin(request: IncomingMessage, configured: string | undefined): void {
  const { origin, 'sec-fetch-site': site } = request.headers;
  const isOwnOrigin = origin === originOf(request, configured);
  const isAllowed = site === undefined ? isOwnOrigin : site === 'same-origin' && (origin === undefined || origin === 'null' || isOwnOrigin);
  if (isAllowed) return;
  const hint = configured === undefined ? ' Behind a proxy, set PORTAL_URL to the address that browsers use.' : '';
  throw new ServiceError('csrf_refused', { message: `The request did not come from a page of this portal.${hint}` });
}

/** The token that pages send with requests that change state. Only a page that may read the portal's answers knows it. */
export const csrfTokenOf = (sessionToken: string): string => hash('sha256', `csrf\n${sessionToken}`, 'base64url');

export function requireCsrfToken({ headers }: IncomingMessage, sessionToken: string): void {
  const [sent, expected] = [Buffer.from(String(headers['x-csrf-token'] ?? '')), Buffer.from(csrfTokenOf(sessionToken))];
  if (sent.length === expected.length && timingSafeEqual(sent, expected)) return;
  throw new ServiceError('csrf_refused', {
    message: 'This page belongs to an earlier sign-in. Reload it, and try again.',
  });
}
