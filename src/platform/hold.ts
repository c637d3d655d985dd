// What a request has that its handler may hold for long. Types only, without HTTP objects.

/** A held request has no turn of its tenant and no connection of the database, except while it does work. */
export type Hold = {
  /** Runs work when the tenant has a turn. @throws ServiceError as the turns do */
  inTurn<T>(work: () => Promise<T>): Promise<T>;
  /**
   * Waits, and checks the access token again. The time is not counted as the service's.
   * @throws ServiceError when the token has expired or was revoked meanwhile
   */
  wait<T>(until: Promise<T>): Promise<T>;
  /** Aborts when the client has gone, and after the answer. */
  readonly gone: AbortSignal;
};
