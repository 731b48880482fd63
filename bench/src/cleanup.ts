type CleanUp = () => Promise<void>;

/** In the order in which they were registered. */
const registered = new Set<CleanUp>();

/**
 * Registers what stops a server or removes a folder. PostgreSQL and Redis survive the process that started them, so that a scenario that fails before its own
 * clean-up, or a signal, would leave them beside the next measurement. Calls the clean-up once, however often the result is called.
 */
export function onEnd(cleanUp: CleanUp): CleanUp {
  let done: Promise<void> | undefined;
  const once = () => {
    done ??= cleanUp().finally(() => registered.delete(once));
    return done;
  };
  registered.add(once);
  return once;
}

/** The last one first. A clean-up that fails does not keep the others from being run. */
export async function cleanUp(): Promise<void> {
  for (const each of [...registered].reverse()) await each().catch((cause: unknown) => console.error(cause));
}
