export interface CallLimit {
  /** Ends the call when its caller does or its time is up. */
  readonly signal: AbortSignal;
  readonly expired: boolean;
  /** Something came: the time to the next piece begins anew. */
  progress(): void;
  end(): void;
}

export interface LimitOptions {
  /** From one piece to the next. */
  readonly pieceMs: number;
  readonly totalMs: number;
}

/** The caller's signal and the time a provider has, as one signal. */
export function limitCall(caller: AbortSignal, { pieceMs, totalMs }: LimitOptions): CallLimit {
  const controller = new AbortController();
  let expired = false;
  const expire = () => {
    expired = true;
    controller.abort();
  };
  const piece = setTimeout(expire, pieceMs);
  const total = totalMs > pieceMs ? setTimeout(expire, totalMs) : undefined;
  const abort = () => controller.abort(caller.reason);
  if (caller.aborted) abort();
  else caller.addEventListener('abort', abort, { once: true });
  return {
    signal: controller.signal,
    get expired() {
      return expired;
    },
    progress: () => void piece.refresh(),
    end() {
      clearTimeout(piece);
      clearTimeout(total);
      caller.removeEventListener('abort', abort);
    },
  };
}
