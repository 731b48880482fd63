import type { ServiceDefinition } from '@grpc/grpc-js';
import type { MethodDefinition } from '@grpc/proto-loader';
import type { AgentsServiceDefinition } from './gen/agentservice/v1/AgentsService.ts';
import type { CreditsServiceDefinition } from './gen/agentservice/v1/CreditsService.ts';
import type { IdentityServiceDefinition } from './gen/agentservice/v1/IdentityService.ts';
import type { OutboxServiceDefinition } from './gen/agentservice/v1/OutboxService.ts';
import type { TemplatesServiceDefinition } from './gen/agentservice/v1/TemplatesService.ts';
import type { WebhooksServiceDefinition } from './gen/agentservice/v1/WebhooksService.ts';
import { protos } from './gen/protos.ts';
import { describeService, readProtos } from './protos.ts';

/** The services there are, by the name under which addresses and clients are configured. */
interface Services {
  identity: IdentityServiceDefinition & OutboxServiceDefinition;
  credits: CreditsServiceDefinition & OutboxServiceDefinition;
  agents: AgentsServiceDefinition & OutboxServiceDefinition;
  templates: TemplatesServiceDefinition;
  webhooks: WebhooksServiceDefinition & OutboxServiceDefinition;
}

export type ServiceName = keyof Services;

/** The methods of a service as its proto names them; the index signature of the generated types is left out. */
export type MethodsOf<Name extends ServiceName> = {
  [Method in keyof Services[Name] as string extends Method ? never : Method]: Services[Name][Method];
};

/** The messages of a method as either side writes and reads them. */
export type Messages<Method> =
  Method extends MethodDefinition<infer Sent, infer Returned, infer Received, infer Answered>
    ? { sent: Sent; returned: Returned; received: Received; answered: Answered }
    : never;

export interface CallOptions {
  /** The most this call may take; the inherited deadline still counts. */
  timeoutMs?: number;
  /**
   * The replica that the call is sent to, one of `replicas()`. The call may wait there for long, which says nothing about the replica's health.
   */
  waitAt?: string;
  /** Sends it to one replica only, also where its method may be repeated: it may take so long that other replicas would begin the same work. */
  isSentOnce?: boolean;
}

/** The methods of a client: the request as it is sent, the response as it is received. */
export type Client<Name extends ServiceName> = {
  [Method in keyof MethodsOf<Name> as Uncapitalize<Method & string>]: (
    request: Messages<MethodsOf<Name>[Method]>['sent'],
    options?: CallOptions,
  ) => Promise<Messages<MethodsOf<Name>[Method]>['answered']>;
} & {
  /** Rejects unless the service answers that it is serving. */
  checkHealth(): Promise<void>;
  /** Rejects while the service refuses what this process signs, and not while it is away: readiness may follow it without passing outages on. */
  checkSignature(): Promise<void>;
  /** The replicas that serve now, as far as this client knows; none before its first call. */
  replicas(): readonly string[];
  /** False while no replica is found or answers this process; one that answers that it does not serve counts as well. True before the first call. */
  isReachable(): boolean;
  close(): void;
};

interface Definition {
  service: string;
  /** It has an outbox, whose methods it serves beside its own. */
  outbox?: true;
  /** Methods that must answer sooner than others. */
  timeoutsMs?: Readonly<Record<string, number>>;
}

const definitions: Record<ServiceName, Definition> = {
  identity: { service: 'IdentityService', outbox: true },
  // Spending is refused within a second when the ledger cannot be reached.
  credits: { service: 'CreditsService', outbox: true, timeoutsMs: { Hold: 900 } },
  agents: { service: 'AgentsService', outbox: true },
  templates: { service: 'TemplatesService' },
  webhooks: { service: 'WebhooksService', outbox: true },
};

export const serviceNames = Object.keys(definitions) as ServiceName[];

const defaultTimeoutMs = 5_000;

const all = readProtos(protos);
const loaded = new Map<ServiceName, ServiceDefinition>();

/** Every method that a service serves, by its proto, which each process loads once. */
export function loadService(name: ServiceName): ServiceDefinition {
  const known = loaded.get(name) ?? load(name);
  loaded.set(name, known);
  return known;
}

/** How long a call of this method may take, unless the caller says. */
export const timeoutOf = (name: ServiceName, method: string): number => definitions[name].timeoutsMs?.[method] ?? defaultTimeoutMs;

function load(name: ServiceName): ServiceDefinition {
  const { service, outbox } = definitions[name];
  return { ...definitionOf(service), ...(outbox && definitionOf('OutboxService')) };
}

const definitionOf = (service: string): ServiceDefinition => describeService(all, `agentservice.v1.${service}`);

/** The options of a method in its proto. */
interface Declared {
  options?: { idempotency_level?: string };
}

const levelOf = ({ options }: Declared): string => options?.idempotency_level ?? 'IDEMPOTENCY_UNKNOWN';

/** Changes nothing. */
export const isRead = (method: object): boolean => levelOf(method) === 'NO_SIDE_EFFECTS';

/** May be sent again without asking: it changes nothing, or the same as the first time. */
export const isRepeatable = (method: object): boolean => isRead(method) || levelOf(method) === 'IDEMPOTENT';

/** `GetUser` in the proto is `getUser` in code. */
export const uncapitalize = (name: string): string => name.charAt(0).toLowerCase() + name.slice(1);
