/** Why a call of a model gave no answer. */
export type FailureKind =
  | 'rate_limited'
  | 'server_error'
  | 'timeout'
  | 'connection'
  | 'cut'
  | 'malformed'
  | 'too_large'
  | 'empty'
  | 'exhausted'
  | 'denied'
  | 'refused'
  | 'filtered';

interface KindDefinition {
  /** The same call may go well in a moment. */
  readonly mayPass: boolean;
  /** Speaks against the endpoint, not only against this request. */
  readonly countsAgainstEndpoint: boolean;
  readonly message: string;
}

const kinds: Record<FailureKind, KindDefinition> = {
  rate_limited: { mayPass: true, countsAgainstEndpoint: true, message: 'limits the rate of calls' },
  server_error: { mayPass: true, countsAgainstEndpoint: true, message: 'failed' },
  timeout: { mayPass: true, countsAgainstEndpoint: true, message: 'took too long' },
  connection: { mayPass: true, countsAgainstEndpoint: true, message: 'can not be reached' },
  cut: { mayPass: true, countsAgainstEndpoint: true, message: 'ended its answer in the middle' },
  malformed: { mayPass: true, countsAgainstEndpoint: true, message: 'answered with what is no answer' },
  too_large: { mayPass: false, countsAgainstEndpoint: false, message: 'sent too much' },
  empty: { mayPass: true, countsAgainstEndpoint: false, message: 'answered without a text' },
  exhausted: { mayPass: false, countsAgainstEndpoint: false, message: 'used up the length of the answer without a text' },
  denied: { mayPass: false, countsAgainstEndpoint: true, message: 'does not let us use this model' },
  refused: { mayPass: false, countsAgainstEndpoint: false, message: 'refused the request' },
  filtered: { mayPass: false, countsAgainstEndpoint: false, message: 'filtered the answer' },
};

interface FailureFacts {
  status?: number | undefined;
  /** The provider's or the system's own word for it. */
  code?: string | undefined;
  retryAfterMs?: number | undefined;
}

/** Carries no text of the provider's and nothing of the request: both may hold what no log may. */
export class ModelFailure extends Error {
  override name = 'ModelFailure';
  readonly kind: FailureKind;
  readonly status: number | undefined;
  readonly code: string | undefined;
  readonly retryAfterMs: number | undefined;

  constructor(kind: FailureKind, { status, code, retryAfterMs }: FailureFacts = {}) {
    const facts = [status, code].filter((fact) => fact !== undefined).join(' ');
    super(`The model's provider ${kinds[kind].message}${facts ? ` (${facts})` : ''}.`);
    this.kind = kind;
    this.status = status;
    this.code = code;
    this.retryAfterMs = retryAfterMs;
  }

  get mayPass(): boolean {
    return kinds[this.kind].mayPass;
  }

  get countsAgainstEndpoint(): boolean {
    return kinds[this.kind].countsAgainstEndpoint;
  }
}
