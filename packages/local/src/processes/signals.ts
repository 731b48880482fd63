import { errorCode } from '../files.ts';

/** Sends a signal to a process, or to the whole group it leads. Answers whether there was anything to send it to. */
export function signalGroup(pid: number, signal: NodeJS.Signals, whom: 'leader' | 'group'): boolean {
  try {
    process.kill(whom === 'group' ? -pid : pid, signal);
    return true;
  } catch (cause) {
    if (errorCode(cause) === 'ESRCH') return false;
    throw cause;
  }
}
