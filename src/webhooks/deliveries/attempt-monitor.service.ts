// Tells, inside one process, when an attempt begins and when it is over. Nothing may depend on it for correctness: an attempt of
// another process is never heard of here.

/** One attempt of this process. `durationMs` is there when a POST was made; `failed` says that it was not accepted. */
export type AttemptEnd = {
  readonly deliveryId: string;
  readonly subscriptionId?: string | undefined;
  readonly durationMs?: number | undefined;
  readonly failed?: boolean | undefined;
};

export type AttemptListener = {
  begun?(deliveryId: string): void;
  ended?(end: AttemptEnd): void;
};

/** @returns `begin` and `end` for whoever makes attempts, `listen` for whoever counts them (returns how to stop) */
export function createAttemptMonitor() {
  const listeners = new Set<AttemptListener>();
  return {
    begin: (deliveryId: string): void => {
      for (const listener of listeners) listener.begun?.(deliveryId);
    },
    end: (end: AttemptEnd): void => {
      for (const listener of listeners) listener.ended?.(end);
    },
    listen: (listener: AttemptListener): (() => void) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

export type AttemptMonitor = ReturnType<typeof createAttemptMonitor>;
