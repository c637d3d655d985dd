// What breaks an invariant of the service, counted by one statement. `app/wiring/invariants.ts` lists the invariants.
import { only } from './statements.ts';

/** `oldest`: since when the first row is wrong, `seconds` ago. `named`: which rows, where a number does not say it. */
export type Breach = {
  readonly count: number;
  readonly oldest: Date | null;
  readonly seconds: number;
  readonly named: string | null;
};

/** The most rows that are counted. */
const MOST = 100_000;

/**
 * A statement that counts the rows that have been wrong for more than `lateSeconds`.
 * @param since SQL of the time since when a row is wrong
 * @param from SQL of all such rows, from its FROM on
 * @param options.number SQL of how many a row stands for
 * @param options.named SQL of what names a row
 */
export const countBreaches = (since: string, from: string, { number = '1', named = 'NULL' } = {}) =>
  only<Breach, [lateSeconds: number]>(`
SELECT coalesce(sum(number), 0)::float8 AS count, min(since) AS oldest,
  coalesce(extract(epoch FROM now() - min(since)), 0)::float8 AS seconds, left(string_agg(named, ', '), 500) AS named
FROM (SELECT since, number, named FROM (SELECT ${since} AS since, ${number} AS number, ${named}::text AS named ${from}) AS rows
  WHERE since < now() - $1::float8 * interval '1 second' LIMIT ${MOST}) AS found`);
