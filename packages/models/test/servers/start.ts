import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort, pythonWith, testFolder, until } from '@agent-service/testkit';

/** The key that the proxy asks of its callers. */
export const litellmKey = 'sk-a-key-that-is-long-enough-for-the-proxy';
const litellmVersion = '1.106.2';
const llamaPackages = ['xllamacpp==2026.10.11549', 'gguf==0.19.0'];

/** A model server of another project, in a process of its own. */
export interface ModelServer {
  /** As `base_url` of an endpoint. */
  readonly url: string;
  stop(): Promise<void>;
}

/** The LiteLLM proxy in front of a provider with both interfaces: the models `openai` and `anthropic` reach it by one each. */
export async function startLitellm(upstream: string): Promise<ModelServer> {
  const programs = await pythonWith('litellm', [`litellm[proxy]==${litellmVersion}`]);
  const origin = new URL(upstream).origin;
  const model = (name: string, model: string, api_base: string) => ({
    model_name: name,
    litellm_params: { model, api_base, api_key: 'none' },
  });
  const config = {
    model_list: [model('openai', 'openai/scripted', upstream), model('anthropic', 'anthropic/claude-scripted', origin)],
    // It does not start without a key.
    general_settings: { master_key: litellmKey },
    // For callers with Anthropic's interface it would call OpenAI's /responses, which the scripted provider does not have.
    litellm_settings: { num_retries: 0, telemetry: false, use_chat_completions_url_for_anthropic_messages: true },
    // After failed calls it would refuse all others for a while with 429, and it would repeat failed calls itself.
    router_settings: { disable_cooldowns: true, num_retries: 0 },
  };
  const file = join(await testFolder(), 'litellm.json');
  writeFileSync(file, JSON.stringify(config));
  const port = await freePort();
  const words = ['--config', file, '--host', '127.0.0.1', '--port', String(port)];
  return await serve(join(programs, 'litellm'), words, port, '/health/liveliness');
}

/** The server of llama.cpp with a tiny model that the script makes, which writes ten words in a fixed manner. */
export async function startLlama(): Promise<ModelServer> {
  const programs = await pythonWith('llama', llamaPackages);
  const script = fileURLToPath(new URL('tiny_llama_server.py', import.meta.url));
  const port = await freePort();
  return await serve(join(programs, 'python'), [script, await testFolder(), String(port)], port, '/health');
}

async function serve(command: string, words: readonly string[], port: number, healthPath: string): Promise<ModelServer> {
  const log = join(await testFolder(), 'server.log');
  const output = openSync(log, 'w');
  const env = { ...process.env, LITELLM_LOCAL_MODEL_COST_MAP: 'True' };
  const child = spawn(command, words, { env, stdio: ['ignore', output, output] });
  const ended = once(child, 'exit');
  let isReady = false;
  const check = () =>
    fetch(`http://127.0.0.1:${port}${healthPath}`).then(
      ({ ok }) => void (isReady = ok),
      () => undefined,
    );
  const checking = setInterval(check, 200);
  try {
    await until(() => isReady || child.exitCode !== null, startLimitMs);
  } catch (cause) {
    await kill(child, ended);
    throw new Error(`${command} is not ready:\n${readFileSync(log, 'utf8')}`, { cause });
  } finally {
    clearInterval(checking);
  }
  if (child.exitCode !== null) throw new Error(`${command} ended with ${child.exitCode}:\n${readFileSync(log, 'utf8')}`);
  return { url: `http://127.0.0.1:${port}/v1`, stop: () => kill(child, ended) };
}

/** Its first start compiles all of LiteLLM. */
const startLimitMs = 240_000;

async function kill(child: ChildProcess, ended: Promise<unknown>): Promise<void> {
  child.kill('SIGKILL');
  await ended;
}
