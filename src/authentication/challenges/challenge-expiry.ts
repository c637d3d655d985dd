// Buckets of time, one workflow each, at whose end overdue challenges are marked. Whether a challenge may still be used
// never depends on it.

/** Milliseconds of a bucket: a minute. Its cost does not grow with the number of challenges. */
export const BUCKET_LENGTH = 60_000;

/**
 * Seconds that a challenge is past its end before it is marked: longer than a statement that uses it may still take.
 */
export const OVERDUE_SECONDS = 5;

/** A stretch of UTC: `name` is its beginning, `endsAt` in ISO 8601. */
export type Bucket = { readonly name: string; readonly endsAt: string };

/** What one call of the sweep did. `more`: its time was over before its work was. */
export type SweepResult = { readonly expired: number; readonly more: boolean };

/** What the audit log got: one entry for each of so many tenants, with so many challenges in all. */
export type SettleResult = { readonly tenants: number; readonly challenges: number };

/**
 * What the workflow of a bucket is started with; what an execution that begins anew had done before is in `expired` and
 * `asked`.
 */
export type ExpiryInput = Bucket & {
  /** Whether the server takes the search attributes. */
  readonly indexed: boolean;
  readonly expired?: number | undefined;
  readonly asked?: OperatorRequest | undefined;
};

/** An operator wants the sweep immediately. */
export type OperatorRequest = { readonly reason: string | null };

/**
 * The bucket of a moment, and the next one.
 * @param now milliseconds since 1970
 * @param length milliseconds, whole seconds that divide a day
 */
export function bucketsAt(now: number, length = BUCKET_LENGTH): readonly [current: Bucket, next: Bucket] {
  const start = Math.floor(now / length) * length;
  return [bucketFrom(start, length), bucketFrom(start + length, length)];
}

function bucketFrom(start: number, length: number): Bucket {
  const text = new Date(start).toISOString();
  // Named as precisely as buckets of this length need: 2026-11-21T18:15Z.
  const name = `${text.slice(0, length % 60_000 === 0 ? 16 : 19)}Z`;
  return { name, endsAt: new Date(start + length).toISOString() };
}
