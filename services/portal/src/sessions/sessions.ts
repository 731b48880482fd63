import { hash } from 'node:crypto';
import { type Client, currentCall, type Environment, required, ServiceError, withCall } from '@agent-service/contracts';
import { LRUCache } from 'lru-cache';

type PortalSession = NonNullable<Awaited<ReturnType<Client<'identity'>['resumeSession']>>['session']>;

/** A session as this process knows it. */
export interface Session extends PortalSession {
  readonly user: NonNullable<PortalSession['user']>;
  /** The token in the browser's cookie. */
  readonly token: string;
}

/** The sessions of the browsers that use this process. */
export interface Sessions {
  /** The session of a token; rejects with `unauthorized` if it has ended. It was read at most a second ago. */
  resume(token: string): Promise<Session>;
  /**
   * Runs work with a token of the public API for the session's user. If the work is refused with `unauthorized`, which has no effect, it runs
   * once more with a new token: the key that signed the first token may have been revoked. If the session has ended, identity refuses a new token.
   */
  withApiToken<T>(session: Session, environment: Environment, work: (accessToken: string) => Promise<T>): Promise<T>;
  /** True if the token had a valid session when this process last asked identity. */
  knows(token: string): boolean;
  /** Makes the process forget what it knows of a session that ended or changed. */
  forget(token: string): void;
}

/** As long as a gateway keeps identity's verdict on a token. */
const sessionLifetimeMs = 1_000;
/** A token is replaced so long before its end, so that no request arrives with one that has expired. */
const renewBeforeMs = 60_000;
const maxSessions = 20_000;
/** A request waits no longer for identity. */
const lookUpLimitMs = 10_000;

interface Known<Value> {
  readonly value: Promise<Value>;
  /** By the monotonic clock. */
  endsAt: number;
}

const idOf = (token: string) => hash('sha256', token, 'base64url');

const roles = ['admin', 'member'];
/** A token of the API has the scopes of the role at its issue, so that another role needs another token. */
const apiTokenId = (token: string, role: string) => `${idOf(token)} ${role}`;

/** Asks identity once for requests at the same time, and keeps its response for a while. A failure is not kept. */
class ResponseCache<Value> {
  readonly #known = new LRUCache<string, Known<Value>>({ max: maxSessions });

  get(key: string, ask: () => Promise<{ value: Value; lifetimeMs: number }>): Promise<Value> {
    const known = this.#known.get(key);
    if (known && performance.now() < known.endsAt) return known.value;
    const askedAt = performance.now();
    // Every request that waits shares the call: it ends neither with the browser nor at the deadline of the first of them.
    const response = withCall({ requestId: currentCall()?.requestId ?? '', expiresAt: askedAt + lookUpLimitMs }, ask);
    const entry: Known<Value> = { value: response.then(({ value }) => value), endsAt: Number.POSITIVE_INFINITY };
    this.#known.set(key, entry);
    response.then(
      ({ lifetimeMs }) => void (entry.endsAt = askedAt + lifetimeMs),
      () => this.#known.peek(key) === entry && this.#known.delete(key),
    );
    return entry.value;
  }

  /** True also where the stored value is too old to be used. */
  has(key: string): boolean {
    return this.#known.has(key);
  }

  delete(key: string): void {
    this.#known.delete(key);
  }
}

export function createSessions(identity: Pick<Client<'identity'>, 'resumeSession' | 'issueSessionToken'>): Sessions {
  const sessions = new ResponseCache<Session>();
  const apiTokens = { live: new ResponseCache<string>(), test: new ResponseCache<string>() };

  const forget = (token: string) => {
    sessions.delete(idOf(token));
    for (const role of roles) {
      apiTokens.live.delete(apiTokenId(token, role));
      apiTokens.test.delete(apiTokenId(token, role));
    }
  };

  const apiToken = ({ token, user }: Session, environment: Environment): Promise<string> =>
    apiTokens[environment].get(apiTokenId(token, user.role), async () => {
      const { accessToken, expiresIn } = await identity.issueSessionToken({ sessionToken: token, environment });
      // Also a token that ends sooner is used for half of its time.
      return { value: accessToken, lifetimeMs: Math.max(expiresIn * 1_000 - renewBeforeMs, expiresIn * 500) };
    });

  return {
    forget,
    knows: (token) => token !== '' && sessions.has(idOf(token)),
    async resume(token) {
      if (token === '') throw new ServiceError('unauthorized');
      return await sessions.get(idOf(token), async () => {
        const { session } = await identity.resumeSession({ sessionToken: token });
        const { user, ...rest } = required(session);
        return { value: { ...rest, user: required(user), token }, lifetimeMs: sessionLifetimeMs };
      });
    },
    async withApiToken(session, environment, work) {
      for (let isRepeated = false; ; isRepeated = true) {
        const accessToken = await apiToken(session, environment);
        try {
          return await work(accessToken);
        } catch (cause) {
          if (ServiceError.from(cause).code !== 'unauthorized') throw cause;
          forget(session.token);
          if (isRepeated) throw cause;
        }
      }
    },
  };
}
