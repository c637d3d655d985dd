// The settings by which an endpoint counts as down and is probed. Pure.

/** Times in milliseconds. */
export type RecoverySettings = {
  /**
   * Failures in a row after which an endpoint is down, and of how many different deliveries: one undeliverable delivery
   * closes no endpoint.
   */
  readonly failures: number;
  readonly deliveries: 1 | 2 | 3;
  /** Before the first probe, after the first failed one, and so on; the last is for all that follow. */
  readonly probeDelaysMs: readonly number[];
};

/** Probes after 30 s, 1 min, 2, 5, 10, 30, then hourly. */
export const RECOVERY_SETTINGS: RecoverySettings = {
  failures: 10,
  deliveries: 3,
  probeDelaysMs: [30_000, 60_000, 120_000, 300_000, 600_000, 1_800_000, 3_600_000],
};

/**
 * A refusal for good is a fault of its delivery: it closes an endpoint only as the last of so many failures in a row,
 * of as many different deliveries as other failures need.
 */
export const REFUSALS = 30;
