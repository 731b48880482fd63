import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const checkEveryMs = 5_000;
/** The event loop's share of busy time below which a process counts as idle. */
const idleShare = 0.05;
/** Growth of the heap that is worth a collection, which stops the process for some 50 ms. */
const growthBytes = 8 * 1024 * 1024;
/**
 * After a load the process must have been idle for so many checks in a row, five minutes: the collection discards compiled code as well,
 * and the next requests would compile it again.
 */
const checksAfterLoad = 60;
/** A process that is still busy at the last of these serves its first load. */
const checksOfStart = 3;

/**
 * Collects garbage while the process is idle and its heap has grown, after a start or a load. V8 keeps the space for new objects at its
 * largest size otherwise, 16 to 30 MB. It would do the same by itself eight seconds after a load, which `nodeOptions` prevent.
 */
export function releaseMemoryWhenIdle(): void {
  const collect = garbageCollector();
  let measured = performance.eventLoopUtilization();
  const check = createIdleCheck({
    busyShare() {
      const { utilization } = performance.eventLoopUtilization(measured);
      measured = performance.eventLoopUtilization();
      return utilization;
    },
    heapBytes: () => getHeapStatistics().total_heap_size,
    collect,
  });
  setInterval(check, checkEveryMs).unref();
}

interface ProcessState {
  /** The event loop's share of busy time since the last check. */
  readonly busyShare: () => number;
  readonly heapBytes: () => number;
  readonly collect: () => void;
}

/** The regular check of a process, which collects when it is due. */
export function createIdleCheck({ busyShare, heapBytes, collect }: ProcessState): () => void {
  let bytesAfterCollection = 0;
  let checks = 0;
  let idleChecks = 0;
  return () => {
    checks += 1;
    idleChecks = busyShare() > idleShare ? 0 : idleChecks + 1;
    const isStarting = checks <= checksOfStart && bytesAfterCollection === 0;
    const isIdle = idleChecks >= (isStarting ? 1 : checksAfterLoad);
    if (!isIdle || heapBytes() < bytesAfterCollection + growthBytes) return;
    collect();
    bytesAfterCollection = heapBytes();
  };
}

/** V8's own function, which Node has no interface for; contexts created after the flag have it. It returns all memory that it can. */
export function garbageCollector(): () => void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as NodeJS.GCFunction;
  return () => void collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}
