// The tables of dpop.
import { bytes, defineTable, primaryKey, time } from '../../platform/database/table.ts';

export const DPOP_PROOF = defineTable('dpop_proofs', {
  jkt: primaryKey(bytes()),
  jtiHash: primaryKey(bytes()),
  expiresAt: time(),
});
