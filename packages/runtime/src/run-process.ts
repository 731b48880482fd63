import { once } from 'node:events';
import { type ProcessConfig, supervised } from './config.ts';
import { failureText } from './failures.ts';
import { releaseMemoryWhenIdle } from './idle-memory.ts';
import { createProcess, type RunningProcess, type Start } from './process.ts';

/**
 * Reads the settings, starts the service, and stops it gracefully on SIGTERM, SIGINT or when the supervisor's channel
 * closes. An uncaught error ends the process, because its state is then unknown.
 */
export async function runProcess<Config extends ProcessConfig>(
  name: string,
  configure: (env: NodeJS.ProcessEnv) => Config,
  start: Start<Config, unknown>,
): Promise<void> {
  let running: RunningProcess | undefined;
  const stop = async (reason: string) => {
    // Before its start ends, a process has no work to return.
    if (!running) process.exit(0);
    running.logger.info({ event: 'stopping', reason });
    await running.stop();
    running.logger.info({ event: 'stopped' });
    process.exit(0);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void stop(signal));
  process.on('disconnect', () => void stop('the supervisor has disconnected'));
  for (const fault of ['uncaughtException', 'unhandledRejection'] as const) {
    process.on(fault, (cause: unknown) => {
      if (running) running.logger.fatal({ event: fault, err: cause });
      else process.stderr.write(`${name} cannot start. ${failureText(cause)}\n`);
      process.exit(1);
    });
  }
  try {
    const isSupervised = process.argv.includes(supervised);
    if (isSupervised) await once(process, 'message');
    running = await createProcess(name, configure(process.env), start);
    // A supervisor that has died takes no message. With the callback that is no uncaught error, and the disconnect stops this process.
    if (isSupervised) process.send?.('started', undefined, undefined, () => undefined);
    releaseMemoryWhenIdle();
  } catch (cause) {
    process.stderr.write(`${name} cannot start. ${failureText(cause)}\n`);
    process.exit(1);
  }
}

/** Ends a program at a signal, for which the first process of a container has no default. A program that handles signals itself goes on. */
export function endOnSignal(): void {
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)
    process.once(signal, () => {
      if (process.listenerCount(signal) === 0) process.exit(code);
    });
}

/** Runs a program that ends by itself, such as a migration, or at a signal. A failure is one message and the exit code 1. */
export async function runTask(name: string, work: (env: NodeJS.ProcessEnv) => Promise<void>): Promise<void> {
  endOnSignal();
  try {
    await work(process.env);
  } catch (cause) {
    process.stderr.write(`${name} failed. ${failureText(cause)}\n`);
    process.exit(1);
  }
}
