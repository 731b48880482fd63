import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { type Caller, operatorService, type Principal } from './principal.ts';
import type { ServiceKeys } from './service-keys.ts';

/** The only ones that say for whom they call without the gateway's word: it authenticates, and an operator acts for any organization. */
const vouchers: readonly string[] = ['gateway', operatorService];
/** Services that call others for the caller they were called for; the gateway vouches for that caller towards those. */
const onward: Readonly<Record<string, string>> = { templates: 'agents' };
const mostRemembered = 1_000;

/** What a signature covers besides who signs: which method is called with what, and under which of its challenges. */
export interface SignedCall {
  /** As `/agentservice.v1.IdentityService/UpdateUser`. */
  readonly path: string;
  readonly challenge: string;
  readonly requestId: string;
  /** The metadata that names an effect, as it is sent. */
  readonly idempotency: string;
  readonly body: Uint8Array;
}

/** Who calls, as metadata. */
export interface SignedCaller {
  readonly caller: string;
  /** The gateway's word for the principal towards another service. */
  readonly voucher: string;
}

const digest = (key: string, text: string, body?: Uint8Array): string => {
  const hmac = createHmac('sha256', key).update(text);
  return (body ? hmac.update(body) : hmac).digest('base64url');
};

const contentOf = (callee: string, signer: string, { path, challenge, requestId, idempotency }: SignedCall): string =>
  `call\n${callee}\n${path}\n${challenge}\n${requestId}\n${idempotency}\n${signer}\n`;

const voucherOf = (key: string, bearer: string, requestId: string, principal: string): string =>
  digest(key, `voucher\n${bearer}\n${requestId}\n${principal}`);

/** Signs the calls that the process of this name makes of one service. */
export class CallSigner {
  readonly #name: string;
  readonly #callee: string;
  readonly #key: string;
  readonly #vouchingKey: string | undefined;
  readonly #encoded = new WeakMap<Principal, string>();
  readonly #process = randomBytes(6).toString('base64url');
  #calls = 0;

  constructor(keys: ServiceKeys, name: string, callee: string) {
    const key = keys.toCall(callee, name);
    if (!key) throw new Error(`SERVICE_KEYS has no key with which ${name} may call ${callee}`);
    this.#name = name;
    this.#callee = callee;
    this.#key = key;
    const next = vouchers.includes(name) ? onward[callee] : callee;
    this.#vouchingKey = next && keys.toCall(next, 'gateway');
  }

  sign(call: SignedCall, principal: Principal | undefined, given: string | undefined): SignedCaller {
    const encoded = principal ? this.#encode(principal) : '';
    const isBelieved = vouchers.includes(this.#name);
    const bearer = isBelieved ? this.#callee : this.#name;
    const key = encoded ? this.#vouchingKey : undefined;
    const voucher = given ?? (key ? voucherOf(key, bearer, call.requestId, encoded) : '');
    // A caller that is not believed without the gateway's word calls in its own name.
    const signer = `${this.#name}.${isBelieved || voucher ? encoded : ''}.${this.#process}${(this.#calls++).toString(36)}.${call.challenge}`;
    return { caller: `${signer}.${digest(this.#key, contentOf(this.#callee, signer, call), call.body)}`, voucher };
  }

  #encode(principal: Principal): string {
    const known = this.#encoded.get(principal) ?? Buffer.from(JSON.stringify(principal)).toString('base64url');
    this.#encoded.set(principal, known);
    return known;
  }
}

export interface VerifiedCall {
  readonly caller: Caller;
  readonly signature: string;
  readonly challenge: string;
}

/** Verifies the calls that one service receives. */
export class CallVerifier {
  readonly #keys: ServiceKeys;
  readonly #name: string;
  readonly #accepted = new Map<string, readonly string[]>();
  readonly #principals = new Map<string, Principal>();

  constructor(keys: ServiceKeys, name: string) {
    this.#keys = keys;
    this.#name = name;
  }

  /** Who signed this very call; undefined when no service that this one knows did. Whether its challenge is good is not said. */
  verify({ caller: signed, voucher }: SignedCaller, call: Omit<SignedCall, 'challenge'>): VerifiedCall | undefined {
    const [service = '', encoded = '', , challenge = '', signature = '', ...rest] = signed.split('.');
    if (!/^[a-z-]{1,40}$/.test(service) || signature === '' || rest.length > 0) return undefined;
    const content = contentOf(this.#name, signed.slice(0, signed.length - signature.length - 1), { ...call, challenge });
    if (!this.#keysOf(service).some((key) => isSame(digest(key, content, call.body), signature))) return undefined;
    if (encoded === '') return { caller: { service }, signature, challenge };
    if (!vouchers.includes(service) && !this.#isVouched(service, call.requestId, encoded, voucher)) return undefined;
    return { caller: { service, principal: this.#decode(encoded) }, signature, challenge };
  }

  #isVouched(bearer: string, requestId: string, encoded: string, voucher: string): boolean {
    return this.#keysOf('gateway').some((key) => isSame(voucherOf(key, bearer, requestId, encoded), voucher));
  }

  #keysOf(caller: string): readonly string[] {
    const known = this.#accepted.get(caller) ?? this.#keys.toAccept(this.#name, caller);
    if (this.#accepted.size >= mostRemembered) this.#accepted.clear();
    this.#accepted.set(caller, known);
    return known;
  }

  #decode(encoded: string): Principal {
    const known = this.#principals.get(encoded) ?? (JSON.parse(Buffer.from(encoded, 'base64url').toString()) as Principal);
    if (this.#principals.size >= mostRemembered) this.#principals.clear();
    this.#principals.set(encoded, known);
    return known;
  }
}

function isSame(expected: string, received: string): boolean {
  const [a, b] = [Buffer.from(expected), Buffer.from(received)];
  return a.length === b.length && timingSafeEqual(a, b);
}
