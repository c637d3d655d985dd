// Notices a use that has a later time than the clock has: a column of milliseconds rounds up.
import type { Queryable } from '../../../src/platform/database/transaction.ts';

/**
 * From now on a row of the table whose `column` lies ahead of the clock fails its statement. One use may not show
 * half a millisecond; sixty do.
 */
export async function refuseLaterUses(database: Queryable, table: string, column: string): Promise<void> {
  await database.query(`CREATE FUNCTION refuse_later_${table}() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF NEW.${column} > clock_timestamp() THEN RAISE EXCEPTION 'used before its time: %', NEW.${column}; END IF;
      RETURN NEW;
    END $$`);
  await database.query(
    `CREATE TRIGGER refuse_later BEFORE UPDATE ON ${table} FOR EACH ROW EXECUTE FUNCTION refuse_later_${table}()`,
  );
}
