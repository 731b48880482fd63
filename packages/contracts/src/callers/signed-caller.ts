import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { processClock } from '@agent-service/runtime';
import type { Client } from '../catalogue.ts';
import { type Caller, operatorService, type Principal } from './principal.ts';
import type { ServiceKeys } from './service-keys.ts';

/** Callers whose statement of a principal is believed: the gateway authenticates, and an operator acts for any organization. */
const principalIssuers: readonly string[] = ['gateway', operatorService];

interface Forwarding {
  readonly callee: string;
  /** For each method of the service, the method of the callee that it calls for the same principal. */
  readonly methods: Readonly<Record<string, string>>;
}

/** Services that forward the principal they were called for. The gateway vouches for it towards their callee. */
const forwardings: Readonly<Record<string, Forwarding>> = {
  templates: {
    callee: 'agents',
    methods: {
      ListTemplates: 'ListTemplateAgents',
      GetTemplate: 'ListTemplateAgents',
      ActivateTemplate: 'ActivateTemplateAgent',
      DeactivateTemplate: 'DeactivateTemplateAgent',
      DuplicateTemplate: 'CreateAgent',
    } satisfies Partial<Record<Capitalize<keyof Client<'templates'>>, Capitalize<keyof Client<'agents'>>>>,
  },
};

/** The longest that the gateway waits for a call. */
const voucherLifetimeMs = 10_000;
/** Two processes whose clocks may each be 2 s from the one they follow. */
const clockToleranceMs = 4_000;
const maxRemembered = 1_000;

/** The call that a signature covers besides its signer. */
interface SignedCall {
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
  /** The gateway's signed statement of the principal, which the receiver forwards with one further call. */
  readonly voucher: string;
}

const methodOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1);

const contentOf = (callee: string, signer: string, { path, challenge, requestId, idempotency }: SignedCall): string =>
  `call\n${callee}\n${path}\n${challenge}\n${requestId}\n${idempotency}\n${signer}\n`;

interface Voucher {
  /** The service that may forward the principal, and the only method it may call with it. */
  readonly bearer: string;
  readonly method: string;
  readonly requestId: string;
  /** The encoded principal. */
  readonly principal: string;
  /** Milliseconds since 1970 in base 36, by the followed clock. */
  readonly issuedAt: string;
}

const signVoucher = (mac: Mac, { bearer, method, requestId, principal, issuedAt }: Voucher): string =>
  `${issuedAt}.${mac.of(`voucher\n${bearer}\n${method}\n${requestId}\n${issuedAt}\n${principal}`)}`;

/** Signs the calls that the process of this name makes of one service. */
export class CallSigner {
  readonly #name: string;
  readonly #callee: string;
  readonly #isIssuer: boolean;
  readonly #mac: Mac;
  readonly #voucherMac: Mac | undefined;
  readonly #now: () => number;
  readonly #encoded = new WeakMap<Principal, string>();
  readonly #process = randomBytes(6).toString('base64url');
  #calls = 0;

  constructor(keys: ServiceKeys, name: string, callee: string, now: () => number = processClock.now) {
    const key = keys.toCall(callee, name);
    if (!key) throw new Error(`SERVICE_KEYS has no key with which ${name} may call ${callee}`);
    this.#name = name;
    this.#callee = callee;
    this.#isIssuer = principalIssuers.includes(name);
    this.#mac = new Mac(key);
    this.#now = now;
    const receiver = this.#isIssuer ? forwardings[callee]?.callee : callee;
    const voucherKey = receiver && keys.toCall(receiver, 'gateway');
    this.#voucherMac = voucherKey ? new Mac(voucherKey) : undefined;
  }

  /** `forwarded` is the voucher that this process was called with. */
  sign(call: SignedCall, principal: Principal | undefined, forwarded: string | undefined): SignedCaller {
    const encoded = principal ? this.#encode(principal) : '';
    const voucher = forwarded ?? (encoded && this.#voucherMac ? this.#vouch(this.#voucherMac, call, encoded) : '');
    // A caller that is no issuer and has no voucher calls in its own name.
    const signer = `${this.#name}.${this.#isIssuer || voucher ? encoded : ''}.${this.#process}${(this.#calls++).toString(36)}.${call.challenge}`;
    return { caller: `${signer}.${this.#mac.of(contentOf(this.#callee, signer, call), call.body)}`, voucher };
  }

  /** For the method that the callee calls in turn. A process that has the operator's secret can vouch for its own calls. */
  #vouch(mac: Mac, { path, requestId }: SignedCall, principal: string): string {
    const bearer = this.#isIssuer ? this.#callee : this.#name;
    const method = this.#isIssuer ? forwardings[bearer]?.methods[methodOf(path)] : methodOf(path);
    return method ? signVoucher(mac, { bearer, method, requestId, principal, issuedAt: this.#now().toString(36) }) : '';
  }

  #encode(principal: Principal): string {
    const known = this.#encoded.get(principal);
    if (known !== undefined) return known;
    const encoded = Buffer.from(JSON.stringify(principal)).toString('base64url');
    this.#encoded.set(principal, encoded);
    return encoded;
  }
}

interface VerifiedCall {
  readonly caller: Caller;
  readonly signature: string;
  readonly challenge: string;
}

/** Verifies the calls that one service receives. */
export class CallVerifier {
  readonly #keys: ServiceKeys;
  readonly #name: string;
  readonly #now: () => number;
  readonly #macs = new Map<string, readonly Mac[]>();
  readonly #principals = new Map<string, Principal>();

  constructor(keys: ServiceKeys, name: string, now: () => number = processClock.now) {
    this.#keys = keys;
    this.#name = name;
    this.#now = now;
  }

  /** Who signed this very call; undefined when no service that this one knows did. Does not check the challenge. */
  verify({ caller: signed, voucher }: SignedCaller, call: Omit<SignedCall, 'challenge'>): VerifiedCall | undefined {
    const [service = '', encoded = '', , challenge = '', signature = '', ...rest] = signed.split('.');
    if (!/^[a-z-]{1,40}$/.test(service) || signature === '' || rest.length > 0) return undefined;
    const content = contentOf(this.#name, signed.slice(0, signed.length - signature.length - 1), { ...call, challenge });
    if (!this.#macsOf(service).some((mac) => isSame(mac.of(content, call.body), signature))) return undefined;
    if (encoded === '') return { caller: { service }, signature, challenge };
    if (!principalIssuers.includes(service) && !this.#isVouched(service, call, encoded, voucher)) return undefined;
    return { caller: { service, principal: this.#decode(encoded) }, signature, challenge };
  }

  /** True if the gateway vouched for this principal, request and method a moment ago. */
  #isVouched(bearer: string, { path, requestId }: Omit<SignedCall, 'challenge'>, principal: string, voucher: string): boolean {
    const [issuedAt = ''] = voucher.split('.', 1);
    const ageMs = this.#now() - Number.parseInt(issuedAt, 36);
    if (!(ageMs >= -clockToleranceMs && ageMs <= voucherLifetimeMs + clockToleranceMs)) return false;
    const expected = { bearer, method: methodOf(path), requestId, principal, issuedAt };
    return this.#macsOf('gateway').some((mac) => isSame(signVoucher(mac, expected), voucher));
  }

  #macsOf(caller: string): readonly Mac[] {
    return remember(this.#macs, caller, () => this.#keys.toAccept(this.#name, caller).map((key) => new Mac(key)));
  }

  #decode(encoded: string): Principal {
    return remember(this.#principals, encoded, () => JSON.parse(Buffer.from(encoded, 'base64url').toString()) as Principal);
  }
}

function remember<Value>(known: Map<string, Value>, key: string, make: () => Value): Value {
  const cached = known.get(key);
  if (cached !== undefined) return cached;
  const value = make();
  if (known.size >= maxRemembered) known.clear();
  known.set(key, value);
  return value;
}

function isSame(expected: string, received: string): boolean {
  const [a, b] = [Buffer.from(expected), Buffer.from(received)];
  return a.length === b.length && timingSafeEqual(a, b);
}

const blockBytes = 64;
const hashBytes = 32;

/** Usual messages fit; a longer one gets a buffer of its own. */
const usualBytes = 4_096;
/** An UTF-16 code unit is at most three bytes. */
const bytesPerUnit = 3;

/**
 * HMAC-SHA-256 (RFC 2104) under one key. `createHmac` makes a native object for every message, which costs the garbage collector more
 * than the hash itself. Two one-shot hashes over buffers that are kept make none.
 */
export class Mac {
  /** The inner block and the message; written again before each use, and nothing runs between. */
  readonly #inner: Buffer;
  /** The outer block and the inner hash. */
  readonly #outer: Buffer;

  constructor(key: string) {
    const bytes = Buffer.from(key);
    const block = Buffer.alloc(blockBytes);
    (bytes.length > blockBytes ? hash('sha256', bytes, 'buffer') : bytes).copy(block);
    this.#inner = Buffer.alloc(blockBytes + usualBytes);
    this.#inner.set(block.map((byte) => byte ^ 0x36));
    this.#outer = Buffer.concat([block.map((byte) => byte ^ 0x5c), Buffer.alloc(hashBytes)]);
  }

  /** The code of the text followed by the bytes, in base64url. */
  of(text: string, body?: Uint8Array): string {
    const longest = bytesPerUnit * text.length + (body?.length ?? 0);
    const message = longest > usualBytes ? this.#withRoomFor(longest) : this.#inner;
    let end = blockBytes + message.write(text, blockBytes);
    if (body) {
      message.set(body, end);
      end += body.length;
    }
    // A binary string costs less than a buffer.
    this.#outer.write(hash('sha256', message.subarray(0, end), 'binary'), blockBytes, 'binary');
    return hash('sha256', this.#outer, 'base64url');
  }

  #withRoomFor(bytes: number): Buffer {
    const message = Buffer.allocUnsafe(blockBytes + bytes);
    this.#inner.copy(message, 0, 0, blockBytes);
    return message;
  }
}
