import { readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type Client, operatorService, type ServiceName } from '@agent-service/contracts';
import { seed } from '@agent-service/local/seed';
import { clientOf, type LocalSystem } from '@agent-service/local/system/system';
import {
  type DocumentedAnswers,
  type ReceivedResponse,
  type SystemAccess,
  servedAnswers,
  sharedSystem,
  testFolder,
  testSystem,
  withoutRateLimits,
} from '@agent-service/testkit';

export interface Organization {
  readonly id: string;
  readonly userId: string;
  readonly keys: { readonly live: string; readonly test: string };
}

interface Sent {
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A running system with the demonstration organization, and an operator's clients. */
export interface World {
  readonly system: SystemAccess;
  /** The organization that `npm start` creates, with its data source. */
  readonly demonstration: Organization['keys'];
  /** Every answer has to be one that the document of the gateway describes. */
  readonly call: (key: string, method: string, path: string, sent?: Sent) => Promise<ReceivedResponse>;
  /** An organization without a data source. */
  readonly makeOrganization: () => Promise<Organization>;
  readonly makeKey: (organization: Organization, scopes: string[]) => Promise<string>;
  readonly operator: <Name extends ServiceName>(name: Name) => Client<Name>;
  readonly stop: () => Promise<void>;
}

/** A system whose processes a test may kill, with a folder of the operator's templates. */
export interface OwnWorld extends World {
  readonly system: LocalSystem;
  readonly templatesFolder: string;
}

/** Starts a system of its own, with the templates that `prepare` writes to the operator's folder. */
export async function startWorld(prepare: (templatesFolder: string) => Promise<void> = async () => undefined): Promise<OwnWorld> {
  const templatesFolder = join(await testFolder(), 'templates');
  await mkdir(templatesFolder);
  await prepare(templatesFolder);
  const system = await testSystem({ ...withoutRateLimits, TEMPLATES_DIR: templatesFolder }, { seed });
  return { ...openWorld(system, await servedAnswers(system.url), () => system.stop()), system, templatesFolder };
}

/** Uses the system that test files share, with the templates that come with the service. */
export async function shareWorld(): Promise<World> {
  const system = await sharedSystem();
  return openWorld(system, await servedAnswers(system.url), async () => system.leave());
}

function openWorld(system: SystemAccess, answers: DocumentedAnswers, stopSystem: () => Promise<void>): World {
  const clients: { close(): void }[] = [];
  const operator: World['operator'] = (name) => {
    const client = clientOf(system, name, operatorService);
    clients.push(client);
    return client;
  };
  const identity = operator('identity');
  const { api_keys: demonstration } = JSON.parse(readFileSync(join(system.dataDir, 'credentials.json'), 'utf8')) as {
    api_keys: Organization['keys'];
  };
  return {
    system,
    demonstration,
    operator,
    call: (key, method, path, { body, headers = {} } = {}) =>
      answers.send(system.url, {
        method,
        path,
        headers: { authorization: `Bearer ${key}`, ...(body && { 'content-type': 'application/json' }), ...headers },
        ...(body && { body: JSON.stringify(body) }),
      }),
    async makeOrganization() {
      const created = await identity.createOrganization({ name: 'Example' });
      return { id: created.organizationId, userId: created.userId, keys: { live: created.liveApiKey, test: created.testApiKey } };
    },
    async makeKey({ id: organizationId, userId }, scopes) {
      return (await identity.createKey({ organizationId, userId, environment: 'live', scopes, admin: false })).apiKey;
    },
    async stop() {
      for (const client of clients) client.close();
      await stopSystem();
    },
  };
}

export const dataIn = <Data>(answer: ReceivedResponse): Data => answer.json<{ data: Data }>().data;

interface Failure {
  readonly code: string;
  readonly details: Record<string, unknown>;
}
export const errorIn = (answer: ReceivedResponse): Failure => answer.json<{ error: Failure }>().error;
