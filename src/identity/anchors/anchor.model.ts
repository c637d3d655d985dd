// The table of anchors; the view `anchor_records` shows the status at the time of the read.
import {
  defineTable,
  given,
  integer,
  nullable,
  primaryKey,
  type RowOf,
  text,
  time,
  uuid,
} from '../../platform/database/table.ts';
import type { AnchorStatus, AnchorType } from './anchor.ts';

export const ANCHOR = defineTable('anchors', {
  id: primaryKey(uuid()),
  tenantId: uuid(),
  agentId: uuid(),
  type: text<AnchorType>(),
  value: text(),
  status: given(text<AnchorStatus>()),
  proof: text(),
  /** End of the time in which the proof of a pending anchor must be found. */
  expiresAt: time(),
  verifiedAt: nullable(time()),
  revokedAt: nullable(time()),
  createdAt: given(time()),
  /** When the proof of a pending or verified anchor is checked next. */
  nextCheckAt: time(),
  requestedAt: nullable(time()),
  checks: given(integer()),
  lastCheckedAt: nullable(time()),
  /** Outcome of the latest check: `found`, or an error code. */
  lastOutcome: nullable(text()),
  lastFoundAt: nullable(time()),
  misses: given(integer()),
  /** When a check first missed the proof of a verified anchor, if no later check has found it. */
  missingSince: nullable(time()),
  lookedAt: nullable(time()),
  putOffAt: nullable(time()),
});

export type AnchorRow = RowOf<typeof ANCHOR>;
