// The table of anchors. The view `anchor_records` computes the status when it is read.
import {
  defineTable,
  given,
  integer,
  nullable,
  type RowOf,
  TENANT_ROW,
  text,
  time,
  uuid,
} from '../../platform/database/table.ts';
import type { AnchorStatus, AnchorType } from './anchor.ts';

export const ANCHOR = defineTable('anchors', {
  ...TENANT_ROW,
  agentId: uuid(),
  type: text<AnchorType>(),
  value: text(),
  status: given(text<AnchorStatus>()),
  proof: text(),
  expiresAt: time(),
  verifiedAt: nullable(time()),
  revokedAt: nullable(time()),
  nextCheckAt: time(),
  requestedAt: nullable(time()),
  checks: given(integer()),
  lastCheckedAt: nullable(time()),
  /** Outcome of the latest check: `found` or an error code. */
  lastOutcome: nullable(text()),
  lastFoundAt: nullable(time()),
  misses: given(integer()),
  /** Time of the first check that missed the proof of a verified anchor, since a check last found it. */
  missingSince: nullable(time()),
  lookedAt: nullable(time()),
  putOffAt: nullable(time()),
});

export type AnchorRow = RowOf<typeof ANCHOR>;
