// Notifies the listeners of this process when one of its attempts begins and ends. It is a hint only: attempts of other
// processes are not seen here.

/** One attempt of this process. `durationMs` is there when a POST was made. */
export type AttemptEnd = {
  readonly deliveryId: string;
  readonly subscriptionId?: string | undefined;
  readonly durationMs?: number | undefined;
};

export type AttemptListener = {
  begun?(deliveryId: string): void;
  ended?(end: AttemptEnd): void;
};

/** @returns `begin` and `end` for the attempt service; `listen` for the relay, which returns how to stop listening */
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
