// The table of anchors; the view `anchor_records` gives the status as of the moment of reading.
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
  /** Until when a pending anchor's proof can be found. */
  expiresAt: time(),
  verifiedAt: nullable(time()),
  revokedAt: nullable(time()),
  createdAt: given(time()),
  /** When the proof is searched for next, of a pending or verified anchor. */
  nextCheckAt: given(time()),
  requestedAt: nullable(time()),
  checks: given(integer()),
  lastCheckedAt: nullable(time()),
  /** `found`, or the code of what the latest check met. */
  lastOutcome: nullable(text()),
  lastFoundAt: nullable(time()),
  misses: given(integer()),
  /** The first of the checks in a row that did not find the proof of a verified anchor. */
  missingSince: nullable(time()),
  lookedAt: nullable(time()),
  putOffAt: nullable(time()),
});

export type AnchorRow = RowOf<typeof ANCHOR>;
