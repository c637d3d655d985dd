// Divides time into buckets. At the end of each bucket, the bucket's workflow marks overdue challenges.

export const BUCKET_LENGTH = 60_000;

/** Seconds from the expiry of a challenge to its mark. A statement that uses the challenge always ends earlier. */
export const OVERDUE_SECONDS = 5;

/** A period of time. `name` is its beginning in UTC, `endsAt` is ISO 8601. */
export type Bucket = { readonly name: string; readonly endsAt: string };

/** Result of one call of the sweep. `more`: overdue challenges are left, because the time budget was used up. */
export type SweepResult = { readonly expired: number; readonly more: boolean };

/** How many audit entries were written (one for each tenant), and how many challenges they count. */
export type SettleResult = { readonly tenants: number; readonly challenges: number };

/** Input of a bucket's workflow. `expired` and `asked` are passed on when the workflow continues as new. */
export type ExpiryInput = Bucket & {
  /** Whether Temporal has the service's search attributes. */
  readonly indexed: boolean;
  readonly expired?: number | undefined;
  readonly asked?: SweepRequest | undefined;
};

export type SweepRequest = { readonly reason: string | null };

/**
 * Returns the bucket that contains a time, and the next bucket.
 * @param now milliseconds since 1970
 * @param length milliseconds; whole seconds that divide a day
 */
export function bucketsAt(now: number, length = BUCKET_LENGTH): readonly [current: Bucket, next: Bucket] {
  const start = Math.floor(now / length) * length;
  return [bucketFrom(start, length), bucketFrom(start + length, length)];
}

function bucketFrom(start: number, length: number): Bucket {
  const text = new Date(start).toISOString();
  // The name contains seconds only when the length needs them: 2026-11-21T18:15Z.
  const name = `${text.slice(0, length % 60_000 === 0 ? 16 : 19)}Z`;
  return { name, endsAt: new Date(start + length).toISOString() };
}
