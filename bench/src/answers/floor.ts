import { Client } from 'pg';
import { startChild } from '../child.ts';

export interface AnswersFloor {
  readonly url: string;
  readonly pids: Readonly<Record<string, number>>;
  stop(): Promise<void>;
}

export interface FloorOptions {
  readonly databaseUrl: string;
  readonly redisUrl: string;
  readonly modelUrl: string;
}

/** The least that answering a message costs: Express, one insert, one job, one call of the model, one insert, one reply. */
export async function startAnswersFloor({ databaseUrl, redisUrl, modelUrl }: FloorOptions): Promise<AnswersFloor> {
  const database = new Client({ connectionString: databaseUrl });
  await database.connect();
  await database.query('create table if not exists floor_messages (id uuid primary key, question text not null, answer text)');
  await database.end();
  const env = { DATABASE_URL: databaseUrl, REDIS_URL: redisUrl, MODEL_URL: modelUrl };
  const worker = await startChild('floor/answers-worker.ts', env);
  const api = await startChild('floor/answers-api.ts', env);
  return {
    url: `http://127.0.0.1:${api.port}/messages`,
    pids: { api: api.pid, worker: worker.pid },
    async stop() {
      await api.stop();
      await worker.stop();
    },
  };
}
