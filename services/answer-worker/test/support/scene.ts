import { createProcess } from '@agent-service/runtime';
import { type ScriptedModel, scriptedModel, testRedis } from '@agent-service/testkit';
import { type AnswerWorkerConfig, readAnswerWorkerConfig } from '../../src/config.ts';
import { start, type Timing } from '../../src/start.ts';
import { type AgentsPeer, startAgentsPeer, usualScript } from './agents-peer.ts';
import { type Dispatcher, startDispatcher } from './dispatcher.ts';
import { type Surroundings, settingsFor } from './settings.ts';

/** The peers of a worker: a scripted agents, a scripted model, a real Redis. */
export interface Scene extends Surroundings {
  readonly agents: AgentsPeer;
  readonly model: ScriptedModel;
  readonly dispatcher: Dispatcher;
  /** Resets the scripts and records of all peers. */
  reset(): void;
  stop(): Promise<void>;
}

export const usualAnswer = 'All is well.';

export async function setScene(): Promise<Scene> {
  const [{ url: redisUrl }, agents, model] = await Promise.all([
    testRedis(),
    startAgentsPeer(),
    scriptedModel(() => ({ kind: 'text', text: usualAnswer })),
  ]);
  const dispatcher = await startDispatcher(redisUrl);
  return {
    redisUrl,
    agentsAddress: agents.address,
    modelUrl: model.url,
    agents,
    model,
    dispatcher,
    reset() {
      agents.script = usualScript();
      for (const record of [
        agents.begunItems,
        agents.completed,
        agents.failed,
        agents.returned,
        agents.died,
        agents.deathCalls,
        agents.renewed,
        agents.steps,
        agents.finished,
        agents.completeCalls,
      ])
        record.length = 0;
      dispatcher.replies.length = 0;
      model.follow(() => ({ kind: 'text', text: usualAnswer }));
    },
    async stop() {
      await dispatcher.stop();
      await Promise.all([agents.stop(), model.stop()]);
    },
  };
}

/** The worker as its main file starts it, in this process. */
export async function bootWorker(scene: Surroundings, settings: Record<string, string> = {}, timing: Timing = {}) {
  const config = readAnswerWorkerConfig(await settingsFor(scene, settings));
  return await createProcess('answer-worker', config, (process, workerConfig: AnswerWorkerConfig) => start(process, workerConfig, timing));
}
