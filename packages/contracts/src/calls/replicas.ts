import { randomUUID } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { withTimeout } from '@agent-service/work';
import { Channel, type ChannelCredentials, type ChannelInterface, type ChannelOptions, connectivityState } from '@grpc/grpc-js';
import { CallStream } from '../call-stream/client.ts';
import { ServiceError } from '../errors/service-error.ts';

const refreshEveryMs = 500;
/** A replica that serves well and owes no answer is asked more rarely: a call that it leaves unanswered asks at once. */
const checkServingEveryMs = 2_000;
const resolveEveryMs = 5_000;
const resolveLimitMs = 2_000;
const maxInFlight = 1_000;

/** One process that serves a service, over a connection of its own. */
export interface Replica {
  readonly target: string;
  readonly channel: ChannelInterface;
  /** The usual way of its calls. */
  readonly callStream: CallStream;
  /** Calls that it has not answered yet: its own, so that a silent replica takes no other's place. */
  inFlight: number;
  /** Calls that wait at this replica for something to happen: they say nothing about its health. */
  waiting: number;
  /** When it last answered anything, by the monotonic clock. */
  heardAt: number;
  /** When it was last asked for its health, by the monotonic clock. */
  checkedAt: number;
  /** `away` and `silent` end with the next answer, `not serving` with the next health check. */
  state: 'serving' | 'not serving' | 'silent' | 'away';
  /** By its last health answer it serves worse than another replica may. */
  isImpaired: boolean;
  isChecking: boolean;
  /** Why the last health check got no answer; undefined after an answer. */
  fault: Error | undefined;
  /** Why it refused the signature of a health check, null where it accepted it: its last word on it. Undefined before it has said either. */
  refusal: Error | null | undefined;
  /** The challenge under which calls to this replica are signed; empty until the replica has sent one. */
  challenge: string;
  /** The name under which the replica measures how long our calls are under way. */
  sender: string;
}

interface ReplicaSetOptions {
  readonly addresses: Addresses;
  readonly credentials: ChannelCredentials;
  readonly options: ChannelOptions;
  /** Asks a replica for its health and sets its state; never rejects. */
  readonly check: (replica: Replica) => Promise<void>;
  /** True if the first call waits for the first checks, because its answer is compared with the clock that they set. */
  readonly isCheckedFirst: boolean;
}

/** The replicas of one service, as one calling process knows them. */
export class ReplicaSet {
  readonly #settings: ReplicaSetOptions;
  #replicas: Replica[] = [];
  #starting: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #resolvedAt = Number.NEGATIVE_INFINITY;
  #turn = 0;
  #isStarted = false;
  #isClosed = false;

  constructor(settings: ReplicaSetOptions) {
    this.#settings = settings;
  }

  /** True once the replicas are known: picking one needs no wait. */
  get isStarted(): boolean {
    return this.#isStarted;
  }

  /** Resolves the addresses, for all calls that wait for it. Rejects when none is known. */
  start(): Promise<void> {
    this.#starting ??= this.#start().finally(() => (this.#starting = undefined));
    return this.#starting;
  }

  /** The replica that a call should go to; undefined where all of them have been tried or have as many calls as they may. */
  pick(tried: readonly Replica[] = []): Replica | undefined {
    return this.#best(tried, 0);
  }

  /** A replica that has not been tried: any, or only one that answers. */
  pickAnother(tried: readonly Replica[], among: 'all' | 'answering'): Replica | undefined {
    return this.#best(tried, among === 'all' ? 0 : ranks['not serving']);
  }

  /** The targets of the replicas that serve. */
  serving(): string[] {
    return this.#replicas.filter(({ state }) => state === 'serving').map(({ target }) => target);
  }

  /** False while no replica is found or answers, whether or not it serves. True before the first call. */
  get isReachable(): boolean {
    if (this.#resolvedAt === Number.NEGATIVE_INFINITY) return true;
    return this.#replicas.some(({ state }) => ranks[state] >= ranks['not serving']);
  }

  /** The last word on our signature of each replica that has said one. */
  refusals(): (Error | null)[] {
    return this.#replicas.flatMap(({ refusal }) => (refusal === undefined ? [] : [refusal]));
  }

  find(target: string): Replica | undefined {
    return this.#replicas.find((replica) => replica.target === target);
  }

  noteResponse(replica: Replica): void {
    replica.heardAt = performance.now();
    if (replica.state === 'silent' || replica.state === 'away') replica.state = 'serving';
  }

  /** Asks a replica for its health, unless it is being asked. */
  async check(replica: Replica): Promise<void> {
    if (replica.isChecking || this.#isClosed || !this.#replicas.includes(replica)) return;
    replica.isChecking = true;
    replica.checkedAt = performance.now();
    await this.#settings.check(replica);
    replica.isChecking = false;
  }

  close(): void {
    this.#isClosed = true;
    clearInterval(this.#timer);
    for (const replica of this.#replicas) closeReplica(replica);
  }

  async #start(): Promise<void> {
    await this.#resolve();
    this.#timer ??= setInterval(() => this.#refresh(), refreshEveryMs).unref();
    const checks = Promise.all(this.#replicas.map((replica) => this.check(replica)));
    if (this.#settings.isCheckedFirst) await checks;
    this.#isStarted = true;
  }

  #refresh(): void {
    for (const replica of this.#replicas) if (isCheckDue(replica)) void this.check(replica);
    const isDue = performance.now() - this.#resolvedAt > resolveEveryMs;
    // The known addresses stay in use while the names cannot be resolved.
    if (this.#settings.addresses.mayChange && isDue) this.#resolve().catch(() => undefined);
  }

  async #resolve(): Promise<void> {
    this.#resolvedAt = performance.now();
    const { addresses } = this.#settings;
    const targets = await withTimeout(addresses.resolve(), resolveLimitMs, () => new Error(`no address within ${resolveLimitMs} ms`)).catch(
      (cause: unknown) => Promise.reject(new ServiceError('unavailable', { cause })),
    );
    if (this.#isClosed) throw new ServiceError('unavailable', { cause: new Error('the client is closed') });
    const removed = this.#replicas.filter(({ target }) => !targets.includes(target));
    const known = this.#replicas.filter(({ target }) => targets.includes(target));
    const added = targets.filter((target) => !known.some((replica) => replica.target === target));
    this.#replicas = [...known, ...added.map((target) => this.#open(target))];
    // Calls under way end first: closing a channel only keeps new ones out.
    for (const replica of removed) closeReplica(replica);
  }

  #open(target: string): Replica {
    const { credentials, options, addresses } = this.#settings;
    const named = addresses.hostName ? { 'grpc.ssl_target_name_override': addresses.hostName } : {};
    const channel = new Channel(target, credentials, { ...options, ...named });
    return {
      target,
      channel,
      callStream: new CallStream(channel),
      inFlight: 0,
      waiting: 0,
      heardAt: 0,
      checkedAt: 0,
      state: 'serving',
      isImpaired: false,
      isChecking: false,
      fault: undefined,
      refusal: undefined,
      challenge: '',
      sender: randomUUID(),
    };
  }

  /** The best rank first, of those the least loaded, of those each in turn. */
  #best(tried: readonly Replica[], lowestRank: number): Replica | undefined {
    const count = this.#isClosed ? 0 : this.#replicas.length;
    this.#turn = (this.#turn + 1) % Math.max(1, count);
    let best: Replica | undefined;
    let bestRank = lowestRank - 1;
    for (let offset = 0; offset < count; offset += 1) {
      const replica = this.#replicas[(this.#turn + offset) % count] as Replica;
      if (tried.includes(replica) || replica.inFlight >= maxInFlight) continue;
      const rank = rankOf(replica);
      if (rank < lowestRank || rank < bestRank || (best && rank === bestRank && replica.inFlight >= best.inFlight)) continue;
      best = replica;
      bestRank = rank;
    }
    return best;
  }
}

function closeReplica({ channel, callStream }: Replica): void {
  callStream.close();
  channel.close();
}

function isCheckDue({ state, isImpaired, inFlight, heardAt, checkedAt }: Replica): boolean {
  const now = performance.now();
  const owesAnswer = inFlight > 0 && now - heardAt >= refreshEveryMs;
  return state !== 'serving' || isImpaired || owesAnswer || now - checkedAt >= checkServingEveryMs;
}

const ranks = { silent: 0, away: 1, 'not serving': 2, impaired: 3, serving: 4 } as const;
const connectedRank = 5;

/** A replica that does not serve is still better than none: it says itself what is wrong. */
function rankOf({ state, isImpaired, channel }: Replica): number {
  if (state !== 'serving') return ranks[state];
  if (isImpaired) return ranks.impaired;
  return channel.getConnectivityState(false) === connectivityState.READY ? connectedRank : ranks.serving;
}

/** Finds the replicas of a service. */
interface Addresses {
  /** One gRPC target for each replica. */
  resolve(): Promise<readonly string[]>;
  /** True if resolving again may give other addresses. */
  readonly mayChange: boolean;
  /** The host name that certificates are checked for, where the addresses came from one. */
  readonly hostName?: string;
}

const defaultPort = '443';

/**
 * Reads a gRPC target: `ipv4:10.0.0.1:50051,10.0.0.2:50051` lists the replicas, `dns:///agents:50051` and `agents:50051` name a host
 * whose every address is a replica, as with a headless service. Other schemes are left to the library, as one replica.
 */
export function readTarget(target: string): Addresses {
  const [, scheme, list] = /^(ipv[46]):(.+)$/.exec(target) ?? [];
  if (scheme && list) return fixedAddresses(list.split(',').map((address) => `${scheme}:${address.trim()}`));
  const authority =
    /^dns:(?:\/\/\/)?([^/]+)$/.exec(target)?.[1] ?? (target.includes('/') || target.startsWith('unix:') ? undefined : target);
  if (authority === undefined) return fixedAddresses([target]);
  const [host, port] = splitPort(authority);
  return isIP(host) ? fixedAddresses([joinPort(host, port)]) : namedAddresses(host, port);
}

const fixedAddresses = (targets: readonly string[]): Addresses => ({ resolve: async () => targets, mayChange: false });

function namedAddresses(host: string, port: string): Addresses {
  let running: Promise<string[]> | undefined;
  async function find(): Promise<string[]> {
    const addresses = await lookup(host, { all: true });
    return [...new Set(addresses.map(({ address }) => joinPort(address, port)))];
  }
  return {
    mayChange: true,
    hostName: host,
    // Each look-up has one of the process's four threads until the name servers give up, which takes up to a minute.
    resolve() {
      running ??= find().finally(() => (running = undefined));
      return running;
    },
  };
}

function splitPort(authority: string): [host: string, port: string] {
  const [, bracketed, plain, port] = /^(?:\[(.+)\]|([^:]+))(?::(\d+))?$/.exec(authority) ?? [];
  return [bracketed ?? plain ?? authority, port ?? defaultPort];
}

const joinPort = (host: string, port: string) => (isIP(host) === 6 ? `ipv6:[${host}]:${port}` : `ipv4:${host}:${port}`);
