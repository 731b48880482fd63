import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import helmet from 'helmet';

type Directives = Record<string, string[]>;

/** These have a meaning only for pages of old browsers, and each header costs time in every reply. */
const obsoleteHeaders = {
  xDownloadOptions: false,
  xPermittedCrossDomainPolicies: false,
  xXssProtection: false,
  originAgentCluster: false,
};

/** For a page. Names and values in turn, computed once: the headers of helmet do not depend on the request. */
export const securityHeaders = (directives: Directives): readonly string[] => headersOf({ directives, isPage: true });

function headersOf({ directives, isPage }: { readonly directives: Directives; readonly isPage: boolean }): readonly string[] {
  const request = new IncomingMessage(new Socket());
  const response = new ServerResponse(request);
  const secure = helmet({
    ...obsoleteHeaders,
    xDnsPrefetchControl: isPage,
    contentSecurityPolicy: { useDefaults: false, directives },
    xFrameOptions: { action: 'deny' },
  });
  secure(request, response, () => undefined);
  return Object.freeze(response.getHeaderNames().flatMap((name) => [name, String(response.getHeader(name))]));
}

/** For replies that no browser should ever render. */
export const apiHeaders = headersOf({ directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] }, isPage: false });
