import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const checkEveryMs = 5_000;
/** The event loop's share of busy time below which a process counts as idle. */
const idleShare = 0.05;
/** Growth of the heap that is worth a collection, which stops the process for some 50 ms. */
const growthBytes = 8 * 1024 * 1024;
/**
 * After a load the process must have been idle for so many checks in a row, half a minute: the collection discards compiled code as well,
 * and the next requests would compile it again.
 */
const checksAfterLoad = 6;

/**
 * Collects garbage while the process is idle and its heap has grown, after a start or a load. V8 keeps the space for new objects at its
 * largest size otherwise, 16 to 30 MB.
 */
export function releaseMemoryWhenIdle(): void {
  const collect = garbageCollector();
  let heapBytes = 0;
  let measured = performance.eventLoopUtilization();
  let idleChecks = 0;
  const timer = setInterval(() => {
    const { utilization } = performance.eventLoopUtilization(measured);
    measured = performance.eventLoopUtilization();
    idleChecks = utilization > idleShare ? 0 : idleChecks + 1;
    const isIdle = idleChecks >= (heapBytes === 0 ? 1 : checksAfterLoad);
    if (!isIdle || getHeapStatistics().total_heap_size < heapBytes + growthBytes) return;
    collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
    heapBytes = getHeapStatistics().total_heap_size;
  }, checkEveryMs);
  timer.unref();
}

/** V8's own function, which Node has no interface for; contexts created after the flag have it. */
function garbageCollector(): NodeJS.GCFunction {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as NodeJS.GCFunction;
}
