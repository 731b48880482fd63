import { createServer, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { readConfig, setting } from '@agent-service/runtime/config';
import { listen } from '@agent-service/runtime/listen';
import { runTask } from '@agent-service/runtime/run-process';
import { type ModelRule, type ScriptedModel, scriptedModel, scriptOf } from '@agent-service/scripted-model';
import { z } from 'zod';
import { environment } from '../host/environment.ts';
import { writeJson } from '../host/files.ts';
import { seed } from '../seed.ts';
import { runUntilSignal } from '../system/run-until-signal.ts';
import { readCredentials } from '../system/secrets.ts';

const settings = z.object({
  DATA_DIR: setting.text().default('/data'),
  /** Rules of the scripted model, as JSON; without them the built-in model answers. */
  MODEL_RULES: setting.text().optional(),
  CONTROL_PORT: setting.port(8090),
});

/**
 * The whole system in one container, for the tests of other teams: with a PostgreSQL that may lose data when the machine fails, the demonstration
 * organization, and a model whose replies the test decides.
 */
await runTask('embedded', async (env) => {
  const { DATA_DIR, MODEL_RULES, CONTROL_PORT } = readConfig(settings, env);
  const model = MODEL_RULES === undefined ? undefined : await scriptedModel(scriptOf(JSON.parse(MODEL_RULES) as ModelRule[]));
  await startControl(CONTROL_PORT, DATA_DIR, model);
  await runUntilSignal({
    env: { ...environment, ...(model && { MODELS_FILE: writeModelsFile(DATA_DIR, model) }) },
    seed,
    postgresProfile: 'throwaway',
  });
  process.exit();
});

function writeModelsFile(dataDir: string, { url }: ScriptedModel): string {
  const file = join(dataDir, 'models.json');
  const tier = { provider: 'openai-compatible', base_url: url, model: 'scripted' };
  writeJson(file, { tiers: { Fast: tier, Smart: tier, Expert: tier, Premium: tier } });
  return file;
}

/** Serves a test beside the public API: the credentials, and the rules and calls of the model. */
async function startControl(port: number, dataDir: string, model: ScriptedModel | undefined): Promise<void> {
  const answers: Readonly<Record<string, (request: IncomingMessage) => unknown>> = {
    'GET /credentials': () => readCredentials(join(dataDir, 'credentials.json')),
    'GET /model/calls': () => model?.calls,
    'PUT /model/rules': async (request) => {
      model?.follow(scriptOf((await json(request)) as ModelRule[]));
      return model && {};
    },
  };
  const server = createServer((request, response) => {
    const answer = answers[`${request.method} ${request.url}`];
    Promise.resolve(answer?.(request)).then(
      (body) => response.writeHead(body === undefined ? 404 : 200, { 'content-type': 'application/json' }).end(JSON.stringify(body ?? {})),
      (cause: unknown) => response.writeHead(400, { 'content-type': 'text/plain' }).end(String(cause)),
    );
  });
  await listen(server, '0.0.0.0', port);
}
