// Rows of deliveries, and how a test reads those that have ended: many of them are waited for concurrently.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Database } from '../../src/platform/database/database.ts';

export type DeliveryRow = {
  id: string;
  status: string;
  generation: number;
  started_generation: number | null;
  attempt_count: number;
  failed_attempts: number;
  next_attempt_at: Date | null;
  waiting_epoch: number | null;
  last_error: string | null;
  completed_at: Date | null;
};

/**
 * @returns reads a delivery that has ended; one statement for all that are asked for in the same turn of the event loop
 */
export function createEndReader(database: Pick<Database, 'query'>) {
  let batch: { ids: string[]; rows: Promise<DeliveryRow[]> } | undefined;
  const begin = () => {
    const ids: string[] = [];
    const rows = nextTurn().then(async () => {
      batch = undefined;
      const sql = 'SELECT * FROM deliveries WHERE id = ANY($1) AND completed_at IS NOT NULL';
      return (await database.query<DeliveryRow>(sql, [ids])).rows;
    });
    return { ids, rows };
  };
  return async (id: string): Promise<DeliveryRow | undefined> => {
    batch ??= begin();
    batch.ids.push(id);
    return (await batch.rows).find((row) => row.id === id);
  };
}
