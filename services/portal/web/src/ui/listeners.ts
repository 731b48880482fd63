interface Listeners {
  /** For useSyncExternalStore. */
  subscribe(listener: () => void): () => void;
  notify(): void;
  isEmpty(): boolean;
}

/** The parts of the page that follow a value outside of React. */
export function createListeners(): Listeners {
  const listeners = new Set<() => void>();
  return {
    subscribe(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    notify() {
      for (const listener of listeners) listener();
    },
    isEmpty: () => listeners.size === 0,
  };
}
