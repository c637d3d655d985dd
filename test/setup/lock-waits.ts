// Who waits for a lock: what a test reads before it lets the holder go on, instead of sleeping.

type Queryable = { query: (text: string) => Promise<{ rows: unknown[] }> };

/** @returns how many other sessions of the database wait for a lock, of this application or of all */
export async function countLockWaits(queryable: Queryable, application?: string): Promise<number> {
  const { rows } = await queryable.query(
    `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
     ${application === undefined ? '' : `AND application_name = '${application}'`}`,
  );
  return rows.length;
}
