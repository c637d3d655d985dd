// When an endpoint counts as down, and when it is tried again. Pure: what follows is computed in the lane's row, by the database's clock.

/** Times in milliseconds. */
export type LaneRecovery = {
  /** Failures in a row after which a lane is down, and of how many different deliveries: one that nobody can deliver closes no lane. */
  readonly failures: number;
  readonly deliveries: 1 | 2 | 3;
  /** Before the first probe, after the first failed one, and so on; the last is for all that follow. */
  readonly probeDelaysMs: readonly number[];
};

/** 30 s, 1 min, 2, 5, 10, 30, then hourly, for as long as events are kept. */
export const LANE_RECOVERY: LaneRecovery = {
  failures: 10,
  deliveries: 3,
  probeDelaysMs: [30_000, 60_000, 120_000, 300_000, 600_000, 1_800_000, 3_600_000],
};
