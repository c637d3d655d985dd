// One seal as the version before the beginning and the growing tree made it: its texts are written out, and stay as
// they are.
import { createHash } from 'node:crypto';
import { vi } from 'vitest';
import { encodeAuditRow } from '../../src/audit/audit-row.ts';
import * as store from '../../src/audit/checkpoint.store.ts';
import { BEGINNING } from '../../src/audit/checkpoint.ts';
import { createCheckpointSigner, sha256 } from '../../src/audit/checkpoint-signature.node.ts';
import { hashLeaf, rootOfLeaves } from '../../src/audit/merkle.ts';
import type { Database } from '../../src/platform/database/database.ts';
import { MASTER_KEYS } from '../setup/database.ts';

const ZEROS = '0'.repeat(64);
const hashOf = (text: string) => createHash('sha256').update(text).digest();

/** Seals all rows, which are of one tenant, as the first seal. */
export async function sealEarlier(database: Database): Promise<void> {
  const { keyId, publicKey, sign } = createCheckpointSigner({ masterKeys: MASTER_KEYS });
  // Transactions of other databases of the server hold rows back for moments.
  const rows = await vi.waitUntil(async () => {
    const finished = await store.listFinishedRows(database, BEGINNING, 1_000);
    const { rowCount } = await database.query('SELECT 1 FROM audit_log');
    return finished.length === rowCount && finished;
  }, 25_000);
  const [first, last] = [rows[0], rows.at(-1)];
  if (first === undefined || last === undefined) throw new Error('nothing to seal');
  const tenantId = first.tenant_id;
  const leaves = Buffer.concat(rows.map((row) => hashLeaf(sha256, encodeAuditRow(row, 1))));
  const root = Buffer.from(rootOfLeaves(sha256, leaves));
  const sealedAt = new Date().toISOString();
  const checkpoint = [
    ...['SERVICE-AUDIT-CHECKPOINT-V1', tenantId, 1, rows.length, rows.length, root.toString('hex'), ZEROS],
    ...[first.id, last.id, sealedAt, keyId],
  ].join('\n');
  const sealed = hashOf([checkpoint, 1, first.xid, last.xid].join('\n'));
  const end = `${last.xid}/ffffffff-ffff-ffff-ffff-ffffffffffff`;
  const seal = [
    ...['SERVICE-AUDIT-SEAL-V1', 1, ZEROS, rows.length, end, sealedAt, keyId],
    `${tenantId} 1 ${sealed.toString('hex')}`,
  ].join('\n');
  const head = ['SERVICE-AUDIT-HEAD-V1', 1, hashOf(seal).toString('hex'), end, keyId].join('\n');
  const [xid, id] = end.split('/');
  await store.keepKey(database, keyId, publicKey);
  await database.query(
    `INSERT INTO audit_checkpoints (tenant_id, n, seal, count, total, root, previous, first_xid, first_id, last_xid, last_id,
       sealed_at, key_id, signature, row_ids, leaves)
     VALUES ($1, 1, 1, $2::int, $2::int, $3, $4, $5::text::xid8, $6, $7::text::xid8, $8, $9, $10, $11, $12, $13)`,
    [
      ...[tenantId, rows.length, root, Buffer.from(ZEROS, 'hex'), first.xid, first.id, last.xid, last.id],
      ...[sealedAt, keyId, Buffer.from(sign(checkpoint)), rows.map((row) => row.id), leaves],
    ],
  );
  await database.query(
    `INSERT INTO audit_seals (n, previous, count, last_xid, last_id, tenants, numbers, hashes, sealed_at, key_id, signature)
     VALUES (1, $1, $2, $3::text::xid8, $4, $5, '{1}', $6, $7, $8, $9)`,
    [
      ...[Buffer.from(ZEROS, 'hex'), rows.length, xid, id, [tenantId], [sealed], sealedAt, keyId],
      Buffer.from(sign(seal)),
    ],
  );
  await database.query(
    `UPDATE audit_head SET n = 1, hash = $1, last_xid = $2::text::xid8, last_id = $3, key_id = $4, signature = $5`,
    [hashOf(seal), xid, id, keyId, Buffer.from(sign(head))],
  );
}
