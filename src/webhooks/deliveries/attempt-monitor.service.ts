// Calls listeners when an attempt of this process begins or ends. Attempts of other processes are not reported.
import type { LoadedDelivery } from './attempt.store.ts';

/** An attempt that ended. `durationMs` is undefined when no POST was made. */
export type AttemptEnd = {
  readonly deliveryId: string;
  readonly subscriptionId?: string | undefined;
  readonly durationMs?: number | undefined;
};

/** `begun` may return the delivery as it was just read, so that the attempt does not read it again. */
export type AttemptListener = {
  begun?(deliveryId: string): LoadedDelivery | undefined;
  ended?(end: AttemptEnd): void;
};

/** @returns `begin` and `end` for the attempt service; `listen` for the relay, which returns a function to stop it */
export function createAttemptMonitor() {
  const listeners = new Set<AttemptListener>();
  return {
    begin: (deliveryId: string): LoadedDelivery | undefined => {
      let read: LoadedDelivery | undefined;
      for (const listener of listeners) read = listener.begun?.(deliveryId) ?? read;
      return read;
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
