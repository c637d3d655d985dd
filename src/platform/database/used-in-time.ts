// Rows that are used while a statement runs: their end is compared with the time after the wait for their locks.

/**
 * The rows whose `ends_at` lies ahead, and `at`, the time of their use: cut to the milliseconds of a column, which
 * would round it up to an end. To be a MATERIALIZED common table expression.
 * @param locked a common table expression with `ends_at` that has locked its rows
 */
export const usedInTime = (locked: string): string => `
  SELECT * FROM (SELECT *, date_trunc('milliseconds', clock_timestamp()) AS at FROM ${locked} OFFSET 0) AS locked
  WHERE at < ends_at`;
