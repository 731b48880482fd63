import type { SecretName } from './secrets.ts';

/** What must be known of a service to run it here. A new service is one more entry. */
export interface CatalogueEntry {
  readonly name: string;
  /** Its main file, from the repository's root. */
  readonly entry: string;
  /** `http` processes face people: they take a known port and start when everything behind them is ready. */
  readonly kind: 'grpc' | 'http' | 'worker';
  /** Whether it owns a schema of the database. */
  readonly database: boolean;
  readonly redis: boolean;
  /** The only secrets it gets. */
  readonly secrets: readonly SecretName[];
  /** The services it calls: it gets `<NAME>_ADDRESS` of each. */
  readonly needs: readonly string[];
  /** Runs only where this setting of the operator's is true. */
  readonly enabledBy?: 'WEBHOOKS_ENABLED';
  /** The setting that names an `http` process's port, and the port without it. */
  readonly port?: { readonly setting: 'PORT' | 'PORTAL_PORT'; readonly fallback: number };
}

export const catalogue: readonly CatalogueEntry[] = [
  {
    name: 'identity',
    entry: 'services/identity/src/main.ts',
    kind: 'grpc',
    database: true,
    redis: false,
    secrets: ['SERVICE_SECRET', 'KEY_HASH_SECRET', 'ENCRYPTION_KEYS', 'CURSOR_SECRET'],
    needs: ['webhooks'],
  },
  {
    name: 'credits',
    entry: 'services/credits/src/main.ts',
    kind: 'grpc',
    database: true,
    redis: false,
    secrets: ['SERVICE_SECRET', 'CURSOR_SECRET'],
    needs: ['identity', 'webhooks'],
  },
  {
    name: 'agents',
    entry: 'services/agents/src/main.ts',
    kind: 'grpc',
    database: true,
    redis: true,
    secrets: ['SERVICE_SECRET', 'CURSOR_SECRET', 'ENCRYPTION_KEYS'],
    needs: ['identity', 'credits', 'webhooks'],
  },
  {
    name: 'templates',
    entry: 'services/templates/src/main.ts',
    kind: 'grpc',
    database: false,
    redis: false,
    secrets: ['SERVICE_SECRET', 'CURSOR_SECRET'],
    needs: ['agents'],
  },
  {
    name: 'answer-worker',
    entry: 'services/answer-worker/src/main.ts',
    kind: 'worker',
    database: false,
    redis: true,
    secrets: ['SERVICE_SECRET'],
    needs: ['agents'],
  },
  {
    name: 'webhooks',
    entry: 'services/webhooks/src/main.ts',
    kind: 'grpc',
    database: true,
    redis: true,
    secrets: ['SERVICE_SECRET', 'ENCRYPTION_KEYS', 'CURSOR_SECRET'],
    needs: ['identity'],
    enabledBy: 'WEBHOOKS_ENABLED',
  },
  {
    name: 'webhook-dispatcher',
    entry: 'services/webhook-dispatcher/src/main.ts',
    kind: 'worker',
    database: false,
    redis: true,
    secrets: ['SERVICE_SECRET'],
    needs: ['webhooks'],
    enabledBy: 'WEBHOOKS_ENABLED',
  },
  {
    name: 'gateway',
    entry: 'services/gateway/src/main.ts',
    kind: 'http',
    database: false,
    redis: true,
    secrets: ['SERVICE_SECRET'],
    needs: ['identity', 'credits', 'agents', 'templates', 'webhooks'],
    port: { setting: 'PORT', fallback: 8080 },
  },
];
