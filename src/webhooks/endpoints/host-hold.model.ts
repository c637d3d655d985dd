// The table of hosts that an operator holds.
import {
  defineTable,
  given,
  primaryKey,
  type RowOf,
  text,
  time,
  timeOrInfinity,
} from '../../platform/database/table.ts';

export const HOST_HOLD = defineTable('host_holds', {
  host: primaryKey(text()),
  until: timeOrInfinity(),
  reason: text(),
  operator: text(),
  heldAt: given(time()),
});

export type HostHoldRow = RowOf<typeof HOST_HOLD>;
