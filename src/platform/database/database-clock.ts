// The database's clock as a process knows it: the latest time that is certain, from times that the database has told.
// A monotonic clock counts on from there, so a change of the machine's clock changes nothing.
// docs/decisions/0044-times-of-tokens.md

/** By how much a second of two machines may differ: twice as much as NTP corrects at most. */
const DRIFT = 0.001;

/** Reads the database's time, in milliseconds since 1970. */
export const TIME = 'extract(epoch FROM clock_timestamp())::float8 * 1000';

type Bound = { readonly time: number; readonly at: number };

export type DatabaseClock = ReturnType<typeof createDatabaseClock>;

/**
 * @param options.now the clock of this process in milliseconds since 1970, which counts until the database has told
 * @param options.monotonic a monotonic clock in milliseconds
 */
export function createDatabaseClock({
  now = () => Date.now(),
  monotonic = () => performance.now(),
}: {
  now?: (() => number) | undefined;
  monotonic?: (() => number) | undefined;
} = {}) {
  let low: Bound | undefined;
  let high: Bound | undefined;
  const lowAt = ({ time, at }: Bound, moment: number) => time + (moment - at) * (1 - DRIFT);
  const highAt = ({ time, at }: Bound, moment: number) => time + (moment - at) * (1 + DRIFT);

  return {
    /**
     * Takes over a time that the database read between a request and its answer. What contradicts it is forgotten: the
     * database's clock was set, or another database has taken over.
     * @param asked `monotonic` at the request
     */
    observe(time: number, asked: number): void {
      const answered = monotonic();
      const lowest = { time, at: answered };
      const highest = { time, at: asked };
      const isAhead =
        low === undefined || high === undefined || lowAt(lowest, answered) > highAt(high, answered);
      const isBehind = low !== undefined && highAt(highest, answered) < lowAt(low, answered);
      if (isAhead || isBehind || low === undefined || high === undefined) {
        low = lowest;
        high = highest;
        return;
      }
      if (lowAt(lowest, answered) > lowAt(low, answered)) low = lowest;
      if (highAt(highest, answered) < highAt(high, answered)) high = highest;
    },

    /**
     * The database's time in whole milliseconds since 1970: never later than it is, and behind it by the way of an
     * answer. The clock of this process while the database has told nothing.
     */
    now: (): number => Math.floor(low === undefined ? now() : lowAt(low, monotonic())),

    monotonic,
  };
}

/** Anything that runs statements: the pool, a connection, a transaction. */
export type Asked = { query<Row extends object>(text: string): Promise<{ rows: Row[] }> };

/** Asks the database for its time. One statement. @returns milliseconds since 1970, with a fraction */
export async function askTime(
  database: Asked,
  clock: Pick<DatabaseClock, 'observe' | 'monotonic'>,
): Promise<number> {
  const asked = clock.monotonic();
  const { rows } = await database.query<{ time: number }>(`SELECT ${TIME} AS time`);
  const time = rows[0]?.time;
  if (time === undefined) throw new Error('the database did not tell its time');
  clock.observe(time, asked);
  return time;
}
