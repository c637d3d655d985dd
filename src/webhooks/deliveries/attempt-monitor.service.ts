// Calls listeners when an attempt of this process begins or ends. Attempts of other processes are not reported.

/** An attempt that ended. `durationMs` is undefined when no POST was made. */
export type AttemptEnd = {
  readonly deliveryId: string;
  readonly subscriptionId?: string | undefined;
  readonly durationMs?: number | undefined;
};

export type AttemptListener = {
  begun(deliveryId: string): void;
  ended(end: AttemptEnd): void;
};

/** @returns `begin` and `end` for the attempt service; `listen` for the relay, which returns a function to stop it */
export function createAttemptMonitor() {
  const listeners = new Set<AttemptListener>();
  return {
    begin: (deliveryId: string): void => {
      for (const listener of listeners) listener.begun(deliveryId);
    },
    end: (end: AttemptEnd): void => {
      for (const listener of listeners) listener.ended(end);
    },
    listen: (listener: AttemptListener): (() => void) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

export type AttemptMonitor = ReturnType<typeof createAttemptMonitor>;
