import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import helmet from 'helmet';

type Directives = Record<string, string[]>;

/** These have a meaning only for pages of old browsers, and each header costs time in every answer. */
const obsoleteHeaders = {
  xDownloadOptions: false,
  xDnsPrefetchControl: false,
  xPermittedCrossDomainPolicies: false,
  xXssProtection: false,
  originAgentCluster: false,
};

/** Names and values in turn, computed once: the headers of helmet do not depend on the request. */
function headersOf(directives: Directives): readonly string[] {
  const request = new IncomingMessage(new Socket());
  const response = new ServerResponse(request);
  const secure = helmet({
    ...obsoleteHeaders,
    contentSecurityPolicy: { useDefaults: false, directives },
    xFrameOptions: { action: 'deny' },
  });
  secure(request, response, () => undefined);
  return Object.freeze(response.getHeaderNames().flatMap((name) => [name, String(response.getHeader(name))]));
}

/** For answers that no browser should ever render. */
export const apiHeaders = headersOf({ defaultSrc: ["'none'"], frameAncestors: ["'none'"] });

/** For the reference page: everything from here, nothing inline. */
export const pageHeaders = headersOf({
  defaultSrc: ["'none'"],
  scriptSrc: ["'self'"],
  styleSrc: ["'self'"],
  imgSrc: ["'self'", 'data:'],
  connectSrc: ["'self'"],
  baseUri: ["'none'"],
  formAction: ["'none'"],
  frameAncestors: ["'none'"],
});
