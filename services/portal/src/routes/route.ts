import { type Client, checkId, type ServiceError } from '@agent-service/contracts';
import type { Method } from '@agent-service/http/app';
import type { Exchange } from '@agent-service/http/replies/exchange';
import type { Reply } from '@agent-service/http/replies/reply';
import type { z } from 'zod';
import type { PortalCookie } from '../sessions/cookie.ts';
import type { Provider } from '../sessions/provider.ts';
import type { Session, Sessions } from '../sessions/sessions.ts';

/** The browser of a request, as identity records it. */
interface PortalClient {
  readonly address: string;
  /** The key that limits count the address under. */
  readonly countedAddress: string;
  readonly userAgent: string;
}

/** The dependencies of handlers. */
export interface Backends {
  readonly identity: Client<'identity'>;
  readonly agents: Client<'agents'>;
  /** The URL at which callers reach the public API. */
  readonly apiAddress: string;
  readonly sessions: Sessions;
  readonly cookie: PortalCookie;
  /** Undefined where no OpenID Connect provider is configured. */
  readonly provider: Provider | undefined;
  /** Holds what a sign-in with the provider began with. */
  readonly signInCookie: PortalCookie;
  /** Counts attempts to sign in by their outcome: `success`, or the code of the refusal. */
  readonly countSignIn: (method: 'password' | 'openid_connect' | 'invitation', outcome: string) => void;
  /** Told why an answer of the provider was not accepted. */
  readonly onProviderRefusal: (cause: unknown) => void;
  readonly features: { readonly webhooks: boolean; readonly openid_connect: boolean };
}

export interface PortalRequest<Body = unknown> {
  readonly exchange: Exchange;
  readonly body: Body;
  readonly client: PortalClient;
  /** The token in the cookie, valid or not; empty without one. */
  readonly sessionToken: string;
  /** The origin of the portal's pages, for links. */
  readonly origin: string;
}

export interface SignedInRequest<Body = unknown> extends PortalRequest<Body> {
  readonly session: Session;
}

/** The id in the path of a request. A segment may hold any text, percent-encoded. */
export const pathId = ({ exchange }: PortalRequest): string => checkId(String(exchange.request.params['id']), 'id');

interface Description {
  readonly method: Method;
  readonly path: string;
  /** How long the handler's calls may take, unless as long as usual. */
  readonly limitMs?: number;
  /** The reply to a refusal where the browser shows what it gets, instead of a script that reads the error. */
  readonly replyToRefusal?: (refusal: ServiceError, backends: Backends) => Reply;
}

export interface PortalRoute extends Description {
  /** For everyone, for users with a session, or for administrators. Identity decides again for each call. */
  readonly access: 'everyone' | 'session' | 'administrator';
  readonly body?: z.ZodObject;
  readonly handler: (request: SignedInRequest<never>, backends: Backends) => Promise<Reply>;
}

interface Definition<Body extends z.ZodObject | undefined, Request> extends Description {
  readonly body?: Body;
  readonly handler: (request: Request, backends: Backends) => Promise<Reply>;
}

export type Input<Body> = Body extends z.ZodObject ? z.output<Body> : undefined;

/** A route that needs no session. */
export const publicRoute = <Body extends z.ZodObject | undefined = undefined>(
  definition: Definition<Body, PortalRequest<Input<Body>>>,
): PortalRoute => ({ ...definition, access: 'everyone' }) as unknown as PortalRoute;

/** A route of a signed-in user. */
export const userRoute = <Body extends z.ZodObject | undefined = undefined>(
  definition: Definition<Body, SignedInRequest<Input<Body>>>,
): PortalRoute => ({ ...definition, access: 'session' }) as unknown as PortalRoute;

/** A route of a signed-in administrator. */
export const administratorRoute = <Body extends z.ZodObject | undefined = undefined>(
  definition: Definition<Body, SignedInRequest<Input<Body>>>,
): PortalRoute => ({ ...definition, access: 'administrator' }) as unknown as PortalRoute;
