// What a request has that its handler may hold for long. Types only, without HTTP objects.

/** A held request has no turn of its tenant and no connection of the database, except while it does work. */
export type Hold = {
  /**
   * Runs work when the tenant has a turn; after a wait only with a token that is still good.
   * @throws ServiceError as the turns do, and when the token has expired or was revoked
   */
  inTurn<T>(work: () => Promise<T>): Promise<T>;
  /**
   * Waits; the time is not counted as the service's. Several waits without work between them end with the token, too.
   * @throws ServiceError some seconds after the token has expired or was revoked
   */
  wait<T>(until: Promise<T>): Promise<T>;
  /** Requests of another tenant come to this process: what holds up the event loop is worked on in small pieces. */
  isShared(): boolean;
  /** Calls the listener when the client has gone, and after the answer; perhaps repeatedly. */
  onEnd(listener: () => void): void;
};
