import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

export interface Child {
  port: number;
  pid: number;
  stop(): Promise<void>;
}

/** Starts a program of this folder in a process of its own; it says which port it took. */
export async function startChild(file: string, env: Record<string, string>): Promise<Child> {
  const child: ChildProcess = fork(fileURLToPath(new URL(file, import.meta.url)), { env: { ...process.env, ...env } });
  const [message] = (await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(([code]) => Promise.reject(new Error(`${file} ended with ${code}`))),
  ])) as [{ port: number }];
  return {
    port: message.port,
    pid: child.pid ?? 0,
    async stop() {
      const ended = once(child, 'exit');
      child.disconnect();
      await ended;
    },
  };
}
