import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type Client, type ClientConfig, clientSettings, createClient, operatorService } from '@agent-service/contracts';
import { readConfig, setting } from '@agent-service/runtime';
import { z } from 'zod';

/** Clients of the services, created when a command first uses it. */
export interface Connection {
  readonly identity: Client<'identity'>;
  readonly credits: Client<'credits'>;
  readonly agents: Client<'agents'>;
  readonly webhooks: Client<'webhooks'>;
  /** The URL at which browsers reach the portal; undefined where it is not known here. */
  readonly portalUrl: string | undefined;
  /** The services with an outbox that are known here, by name. */
  readonly outboxes: ReadonlyMap<string, OutboxClient>;
  close(): void;
}

/** The calls that every service with an outbox serves. */
export type OutboxClient = Pick<Client<'identity'>, 'listDeadLetters' | 'retryDeadLetters'>;

/** The settings of the commands. */
export const connectionSettings = z.object({
  ...clientSettings,
  IDENTITY_ADDRESS: z.string(),
  CREDITS_ADDRESS: z.string().optional(),
  AGENTS_ADDRESS: z.string().optional(),
  WEBHOOKS_ADDRESS: z.string().optional(),
  // Compose names the address of every service, also of those that it does not start.
  WEBHOOKS_ENABLED: setting.flag(true),
  PORTAL_URL: z.string().optional(),
});
type Config = ClientConfig & z.output<typeof connectionSettings>;

const noWebhooks = 'Webhooks are not enabled here. Start the system with WEBHOOKS_ENABLED=true, or set WEBHOOKS_ADDRESS.';

/** In a container the settings say where the services are; in a checkout the running local system does. */
export function connect(env: NodeJS.ProcessEnv): Connection {
  const local = env.IDENTITY_ADDRESS ? {} : localSettings(resolve(env.DATA_DIR || '.data'));
  const config: Config = readConfig(connectionSettings, { ...local, ...env });
  const webhooksAddress = config.WEBHOOKS_ENABLED ? config.WEBHOOKS_ADDRESS : undefined;
  const open: { close(): void }[] = [];
  const client = <Name extends 'identity' | 'credits' | 'agents' | 'webhooks'>(name: Name, address: string | undefined): Client<Name> => {
    if (!address)
      throw new Error(name === 'webhooks' ? noWebhooks : `Set ${name.toUpperCase()}_ADDRESS: this command needs the ${name} service.`);
    const created = createClient(name, { address, as: operatorService, config });
    open.push(created);
    return created;
  };
  let identity: Client<'identity'> | undefined;
  let credits: Client<'credits'> | undefined;
  let agents: Client<'agents'> | undefined;
  let webhooks: Client<'webhooks'> | undefined;
  return {
    portalUrl: config.PORTAL_URL,
    get identity() {
      return (identity ??= client('identity', config.IDENTITY_ADDRESS));
    },
    get credits() {
      return (credits ??= client('credits', config.CREDITS_ADDRESS));
    },
    get agents() {
      return (agents ??= client('agents', config.AGENTS_ADDRESS));
    },
    get webhooks() {
      return (webhooks ??= client('webhooks', webhooksAddress));
    },
    get outboxes() {
      const addresses = {
        identity: config.IDENTITY_ADDRESS,
        credits: config.CREDITS_ADDRESS,
        agents: config.AGENTS_ADDRESS,
        webhooks: webhooksAddress,
      } as const;
      const known = Object.entries(addresses).filter(([, address]) => address !== undefined);
      return new Map(known.map(([name, address]) => [name, client(name as keyof typeof addresses, address)]));
    },
    close() {
      for (const each of open) each.close();
    },
  };
}

/** The operator's secrets: from the settings, else those of the local system. */
export function readServiceSecrets(env: NodeJS.ProcessEnv): readonly string[] {
  const local = env.SERVICE_SECRET ? undefined : readJson(join(resolve(env.DATA_DIR || '.data'), 'secrets.json')).SERVICE_SECRET;
  const { SERVICE_SECRET: secrets = [] } = readConfig(z.object(clientSettings), { ...env, SERVICE_SECRET: env.SERVICE_SECRET || local });
  return secrets;
}

function localSettings(dataDir: string): NodeJS.ProcessEnv {
  const endpoints = readJson(join(dataDir, 'endpoints.json'));
  const secrets = readJson(join(dataDir, 'secrets.json'));
  const target = (service: string) => {
    const addresses = Object.entries(endpoints).filter(([name]) => name.replace(/-\d+$/, '') === service);
    return addresses.length === 0 ? undefined : `ipv4:${addresses.map(([, address]) => address.replace(/^ipv4:/, '')).join(',')}`;
  };
  return {
    IDENTITY_ADDRESS: target('identity'),
    CREDITS_ADDRESS: target('credits'),
    AGENTS_ADDRESS: target('agents'),
    WEBHOOKS_ADDRESS: target('webhooks'),
    PORTAL_URL: endpoints.portal,
    SERVICE_SECRET: secrets.SERVICE_SECRET,
  };
}

function readJson(file: string): Record<string, string> {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Record<string, string>;
  } catch (cause) {
    throw new Error(
      `No running system found: ${file} cannot be read. Start one with "npm start", name its folder with DATA_DIR, or set IDENTITY_ADDRESS and SERVICE_SECRET.`,
      { cause },
    );
  }
}
