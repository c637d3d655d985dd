// The settings that decide when an endpoint is down and when it is probed. Pure.

export type RecoverySettings = {
  /**
   * An endpoint is down after so many failures in a row, of at least so many different deliveries. One undeliverable
   * delivery therefore does not close an endpoint.
   */
  readonly failures: number;
  readonly deliveries: 1 | 2 | 3;
  /** Milliseconds for which all attempts must have failed: ten failures may be a tenth of a second. */
  readonly failingMs: number;
  /** The waits in milliseconds before each probe; the last one is used for all further probes. */
  readonly probeDelaysMs: readonly number[];
};

/** Probes after 1, 2, 4, 8, 16, 30 s, 1 min, 2, 5, 10, 30, then hourly. */
export const RECOVERY_SETTINGS: RecoverySettings = {
  failures: 10,
  deliveries: 3,
  failingMs: 500,
  probeDelaysMs: [1, 2, 4, 8, 16, 30, 60, 120, 300, 600, 1_800, 3_600].map((seconds) => seconds * 1_000),
};

/**
 * A final refusal is a fault of its delivery. It closes an endpoint only after so many failures in a row, of at least
 * `deliveries` different deliveries.
 */
export const REFUSALS = 30;

/**
 * After so many milliseconds with failures only, a refusal is a fault of the endpoint and counts as any other failure:
 * a receiver that refuses a few deliveries a day must not lose them all unnoticed.
 */
export const REFUSALS_COUNT_AFTER_MS = 3_600_000;
