import type { ChatRequest, ModelRule } from '@agent-service/scripted-model';
import { GenericContainer, type StartedNetwork, type StartedTestContainer, Wait } from 'testcontainers';

const image = 'agent-service-embedded:0.1.0';
const apiPort = 8080;
const controlPort = 8090;
const startLimitMs = 120_000;
const controlLimitMs = 10_000;
/** The folder exists in every image. */
const authorityFile = '/etc/webhook-authority.pem';
/** Tests send more than a person does. */
const limited = ['READS', 'WRITES', 'MESSAGES', 'END_USER_MESSAGES', 'TOKENS', 'FAILED_AUTHENTICATIONS'];
const rateLimits = limited.map((kind) => [`RATE_LIMIT_${kind}_PER_MINUTE`, '1000000']);

/** The demonstration organization's, with every scope and the rights of an administrator. */
export interface Credentials {
  readonly organization_id: string;
  readonly api_keys: { readonly live: string; readonly test: string };
  readonly oauth: { readonly client_id: string; readonly client_secret: string };
}

/** A running system of one test. */
export interface StartedAgentService {
  /** The address of the API, as http://127.0.0.1:49152. */
  readonly baseUrl: string;
  /** Keys of the demonstration organization: `live` asks the scripted model, `test` the built-in one. */
  readonly apiKeys: Credentials['api_keys'];
  readonly credentials: Credentials;
  /** The scripted model of `withScriptedModel`. */
  readonly model: {
    /** Sets the rules from the next request on. */
    follow(rules: readonly ModelRule[]): Promise<void>;
    /** Every request that the model got, in order. */
    calls(): Promise<readonly ChatRequest[]>;
  };
  readonly container: StartedTestContainer;
  stop(): Promise<void>;
}

/**
 * The whole Agent Service in one container, for integration tests. `start` resolves when it is ready. Its PostgreSQL and Redis are inside, unless
 * `withServers` names others.
 */
export class AgentServiceContainer {
  readonly #image: string;
  readonly #settings = new Map<string, string>(rateLimits as [string, string][]);
  #network: StartedNetwork | undefined;
  #authority: string | undefined;

  /** The image is made by `docker build -f deploy/embedded.Dockerfile`. */
  constructor(name: string = image) {
    this.#image = name;
  }

  /** Answers of the live environment come from these rules: the first whose `when` is in the message replies. */
  withScriptedModel(rules: readonly ModelRule[]): this {
    return this.withSetting('MODEL_RULES', JSON.stringify(rules));
  }

  /**
   * Webhooks and their events are off unless this is called. Receivers in these networks are allowed, as 172.16.0.0/12, with certificates that
   * `authority` has signed: its own certificate in PEM. A certificate that signs itself is its own authority.
   */
  withWebhooks(allowedNetworks = '', { authority }: { readonly authority?: string } = {}): this {
    this.#authority = authority;
    return this.withSetting('WEBHOOKS_ENABLED', 'true').withSetting('WEBHOOK_ALLOWED_NETWORKS', allowedNetworks);
  }

  /** Any setting of docs/reference/settings.md. */
  withSetting(name: string, value: string): this {
    this.#settings.set(name, value);
    return this;
  }

  /** Uses a PostgreSQL and a Redis that run in this network, under URLs that hold there. */
  withServers(network: StartedNetwork, urls: { readonly databaseUrl: string; readonly redisUrl: string }): this {
    this.#network = network;
    return this.withSetting('DATABASE_URL', urls.databaseUrl).withSetting('REDIS_URL', urls.redisUrl);
  }

  async start(): Promise<StartedAgentService> {
    const settings = {
      ...Object.fromEntries(this.#settings),
      ...(this.#authority !== undefined && { WEBHOOK_CA_FILE: authorityFile }),
    };
    let draft = new GenericContainer(this.#image)
      .withEnvironment(settings)
      .withExposedPorts(apiPort, controlPort)
      // A container that ends, as with a setting that is not valid, fails the start at once and with its last log lines.
      .withWaitStrategy(Wait.forHttp('/readyz', apiPort, { abortOnContainerExit: true }).forStatusCode(200))
      .withStartupTimeout(startLimitMs);
    if (this.#network) draft = draft.withNetwork(this.#network);
    if (this.#authority !== undefined) {
      draft = draft.withCopyContentToContainer([{ content: this.#authority, target: authorityFile, mode: 0o444 }]);
    }
    const container = await draft.start();
    const host = container.getHost();
    const control = `http://${host}:${container.getMappedPort(controlPort)}`;
    try {
      const credentials = (await ask(control, 'GET', '/credentials')) as Credentials;
      return {
        baseUrl: `http://${host}:${container.getMappedPort(apiPort)}`,
        apiKeys: credentials.api_keys,
        credentials,
        model: {
          follow: async (rules) => void (await ask(control, 'PUT', '/model/rules', rules)),
          calls: async () => (await ask(control, 'GET', '/model/calls')) as ChatRequest[],
        },
        container,
        stop: async () => void (await container.stop()),
      };
    } catch (cause) {
      await container.stop().catch(() => undefined);
      throw cause;
    }
  }
}

async function ask(url: string, method: string, path: string, body?: unknown): Promise<unknown> {
  const response = await fetch(`${url}${path}`, {
    method,
    ...(body !== undefined && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(controlLimitMs),
  });
  if (response.status === 404 && path.startsWith('/model'))
    throw new Error('The container has no scripted model: call withScriptedModel before start.');
  if (!response.ok)
    throw new Error(`${method} ${path} of the container's control port answered ${response.status}: ${await response.text()}`);
  return await response.json();
}
