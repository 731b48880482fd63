import type { SecretName } from './secrets.ts';

/** Describes how a service runs here. A new service is one more entry. */
export interface CatalogueEntry {
  readonly name: string;
  /** Its main file, from the repository's root. */
  readonly entry: string;
  /** `http` processes face people: they take a known port and start when everything behind them is ready. */
  readonly kind: 'grpc' | 'http' | 'worker';
  /** True if it owns a schema of the database. */
  readonly database: boolean;
  /** True if it runs with another role than the schema's owner, and migrates with DATABASE_OWNER_URL. */
  readonly runtimeRole?: boolean;
  readonly redis: boolean;
  /** The only secrets it gets, besides the keys of its calls. */
  readonly secrets: readonly SecretName[];
  /** The services it calls: it gets `<NAME>_ADDRESS` of each. */
  readonly needs: readonly string[];
  /** The operator's settings that it understands, beside those of every process. It gets no others. */
  readonly settings: readonly string[];
  /** Calls models: it gets the keys that MODELS_FILE names. */
  readonly models?: boolean;
  /** Calls external addresses through the operator's proxies, which it gets. Webhooks are delivered to checked addresses, without a proxy. */
  readonly outbound?: boolean;
  /** Calls the public API: it gets GATEWAY_URL. */
  readonly callsGateway?: boolean;
  /** Runs only where this setting of the operator's is true. */
  readonly enabledBy?: 'WEBHOOKS_ENABLED';
  /** The setting that names an `http` process's port, and the port without it. */
  readonly port?: { readonly setting: 'PORT' | 'PORTAL_PORT'; readonly fallback: number };
}

const database = ['DATABASE_POOL_MAX', 'DATABASE_POOLER'];
const redis = ['REDIS_MODE', 'REDIS_SENTINEL_MASTER'];
const encryption = ['ENCRYPTION_KEY_AHEAD_SECONDS'];
const events = ['WEBHOOKS_ENABLED'];

export const catalogue: readonly CatalogueEntry[] = [
  {
    name: 'identity',
    entry: 'services/identity/src/main.ts',
    kind: 'grpc',
    database: true,
    runtimeRole: true,
    redis: false,
    secrets: ['KEY_HASH_SECRET', 'ENCRYPTION_KEYS', 'CURSOR_SECRET'],
    needs: ['webhooks'],
    settings: [
      ...database,
      ...encryption,
      ...events,
      'TOKEN_TTL_SECONDS',
      'TOKEN_ISSUER',
      'SIGNING_KEY_DAYS',
      'SIGNING_KEY_AHEAD_SECONDS',
      'AUDIT_KEYS',
      'SESSION_IDLE_SECONDS',
      'SESSION_MAX_SECONDS',
      'OPENID_CONNECT_ISSUER',
      'OPENID_CONNECT_CLIENT_ID',
    ],
  },
  {
    name: 'credits',
    entry: 'services/credits/src/main.ts',
    kind: 'grpc',
    database: true,
    redis: false,
    secrets: ['CURSOR_SECRET'],
    needs: ['identity', 'webhooks'],
    settings: [...database, ...events, 'MODELS_FILE'],
  },
  {
    name: 'agents',
    entry: 'services/agents/src/main.ts',
    kind: 'grpc',
    database: true,
    redis: true,
    secrets: ['CURSOR_SECRET', 'ENCRYPTION_KEYS'],
    needs: ['identity', 'credits', 'webhooks'],
    settings: [
      ...database,
      ...redis,
      ...encryption,
      ...events,
      'DATA_SOURCE_ALLOWED_NETWORKS',
      'ORGANIZATION_ANSWERS_IN_FLIGHT',
      'ORGANIZATION_ANSWERS_WAITING',
      'ANSWER_DEADLINE_SECONDS',
    ],
  },
  {
    name: 'templates',
    entry: 'services/templates/src/main.ts',
    kind: 'grpc',
    database: false,
    redis: false,
    secrets: ['CURSOR_SECRET'],
    needs: ['agents'],
    settings: ['MODELS_FILE', 'TEMPLATES_DIR'],
  },
  {
    name: 'answer-worker',
    entry: 'services/answer-worker/src/main.ts',
    kind: 'worker',
    database: false,
    redis: true,
    secrets: [],
    needs: ['agents'],
    settings: [
      ...redis,
      'MODELS_FILE',
      'ANSWER_CONCURRENCY',
      'ANSWER_WAITING_CAPACITY',
      'ANSWER_APART_PROCESSES',
      'ANSWER_APART_SHARED',
      'ANSWER_DRAIN_MS',
      'DATA_SOURCE_ALLOWED_NETWORKS',
      'DATA_SOURCE_ROLES',
      'DATA_LOCALE',
      'DATA_TIME_ZONE',
    ],
    models: true,
    outbound: true,
  },
  {
    name: 'webhooks',
    entry: 'services/webhooks/src/main.ts',
    kind: 'grpc',
    database: true,
    redis: true,
    secrets: ['ENCRYPTION_KEYS', 'CURSOR_SECRET'],
    needs: ['identity'],
    settings: [...database, ...redis, ...encryption, 'WEBHOOK_ALLOWED_NETWORKS', 'SMTP_URL', 'SMTP_FROM'],
    enabledBy: 'WEBHOOKS_ENABLED',
  },
  {
    name: 'webhook-dispatcher',
    entry: 'services/webhook-dispatcher/src/main.ts',
    kind: 'worker',
    database: false,
    redis: true,
    secrets: [],
    needs: ['webhooks'],
    settings: [...redis, 'WEBHOOK_ALLOWED_NETWORKS', 'WEBHOOK_CA_FILE', 'DELIVERY_JOBS_AT_ONCE'],
    enabledBy: 'WEBHOOKS_ENABLED',
  },
  {
    name: 'gateway',
    entry: 'services/gateway/src/main.ts',
    kind: 'http',
    database: false,
    redis: true,
    secrets: [],
    needs: ['identity', 'credits', 'agents', 'templates', 'webhooks'],
    settings: [
      ...redis,
      ...events,
      'RATE_LIMIT_READS_PER_MINUTE',
      'RATE_LIMIT_WRITES_PER_MINUTE',
      'RATE_LIMIT_MESSAGES_PER_MINUTE',
      'RATE_LIMIT_END_USER_MESSAGES_PER_MINUTE',
      'RATE_LIMIT_TOKENS_PER_MINUTE',
      'RATE_LIMIT_FAILED_AUTHENTICATIONS_PER_MINUTE',
      'ANSWER_WAIT_SECONDS',
      'ANSWER_WAIT_DRAIN_SECONDS',
      'TRUSTED_PROXIES',
      'CONNECTIONS_PER_ADDRESS',
      'CORS_ORIGINS',
      'PUBLIC_URL',
    ],
    port: { setting: 'PORT', fallback: 8080 },
  },
  {
    name: 'portal',
    entry: 'services/portal/src/main.ts',
    kind: 'http',
    database: false,
    redis: false,
    secrets: [],
    needs: ['identity', 'agents'],
    settings: [
      ...events,
      'PORTAL_URL',
      'PUBLIC_URL',
      'PUBLIC_PORT',
      'PORTAL_PAGES_DIR',
      'PORTAL_DOCS_DIR',
      'OPENID_CONNECT_ISSUER',
      'OPENID_CONNECT_CLIENT_ID',
      'OPENID_CONNECT_CLIENT_SECRET',
      'ANSWER_WAIT_SECONDS',
      'TRUSTED_PROXIES',
      'CONNECTIONS_PER_ADDRESS',
    ],
    callsGateway: true,
    port: { setting: 'PORTAL_PORT', fallback: 8081 },
  },
];
