// The table of what each process has counted of each objective, by UTC day.
import { bigint, date, defineTable, primaryKey, text, uuid } from '../../platform/database/table.ts';

export const OBJECTIVE_COUNT = defineTable('objective_counts', {
  day: primaryKey(date()),
  process: primaryKey(uuid()),
  objective: primaryKey(text()),
  good: bigint(),
  total: bigint(),
});
