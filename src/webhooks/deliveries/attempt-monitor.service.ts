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
export class AttemptMonitor {
  readonly #listeners = new Set<AttemptListener>();

  /** Notes that an attempt of the delivery begins. */
  begin = (deliveryId: string): void => {
    for (const listener of this.#listeners) listener.begun(deliveryId);
  };

  /** Notes that an attempt has ended. */
  end = (end: AttemptEnd): void => {
    for (const listener of this.#listeners) listener.ended(end);
  };

  /** Calls the listener at each begin and end. @returns what ends that */
  listen = (listener: AttemptListener): (() => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };
}
