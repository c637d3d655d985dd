// The audit log with its sealer and its verification over one database, and a superuser's hand in it.

import { setTimeout as sleep } from 'node:timers/promises';
import { createAuditProofService } from '../../src/audit/audit-proof.service.ts';
import { createAuditReadingService } from '../../src/audit/audit-reading.service.ts';
import { createAuditSealer } from '../../src/audit/audit-sealing.service.ts';
import { createAuditVerificationService } from '../../src/audit/audit-verification.service.ts';
import { createAuditBeginning } from '../../src/audit/beginning.service.ts';
import * as checkpoints from '../../src/audit/checkpoint.store.ts';
import { createVerificationStore } from '../../src/audit/verification.store.ts';
import type { Anchor, Finding } from '../../src/audit/verification.ts';
import { createRecordService } from '../../src/events/record.service.ts';
import type { RequestContext } from '../../src/platform/context.ts';
import type { MasterKey } from '../../src/platform/crypto/secret-box.node.ts';
import type { Database } from '../../src/platform/database/database.ts';
import { MASTER_KEYS } from '../setup/database.ts';

export type Sealing = ReturnType<typeof createSealing>;

/** Wires the room. @param options.sealRows, options.pageRows small, so that a few rows take many seals and pages */
export function createSealing(
  database: Database,
  options: { masterKeys?: readonly MasterKey[]; sealRows?: number; pageRows?: number } = {},
) {
  const { masterKeys = MASTER_KEYS, sealRows, pageRows } = options;

  const records = createRecordService({ notifier: { poke: () => undefined } });
  const newSealer = () => createAuditSealer({ database, masterKeys, sealRows, pageRows, interval: 50 });
  const sealer = newSealer();
  const store = createVerificationStore({ database });
  const verification = createAuditVerificationService({ database, store, masterKeys });
  return {
    records,
    checkpoints,
    newSealer,
    sealer,
    verification,
    reading: createAuditReadingService({ database, accesses: { note: () => undefined } }),
    proofs: createAuditProofService({ database, accesses: { note: () => undefined } }),

    /** Writes rows, each in a transaction of its own. */
    write: async (context: RequestContext, count = 1, data: Record<string, unknown> = {}) => {
      for (let index = 0; index < count; index += 1)
        await records.write(database, context, {
          audit: [{ action: 'agent.created', outcome: 'success', data: { index, ...data } }],
        });
    },

    /** Seals until nothing is left; transactions of other databases of the server hold rows back for moments. */
    sealAll: async () => {
      for (let tries = 0; tries < 1_000; tries += 1) {
        // One seal for all rows: a part of them would be another checkpoint.
        const { rowCount } = await database.query(
          'SELECT 1 FROM audit_log WHERE xid >= pg_snapshot_xmin(pg_current_snapshot()) LIMIT 1',
        );
        if (rowCount === 0) await sealer.runOnce();
        const head = await checkpoints.readHead(database);
        if (head !== undefined && (await store.countUnsealed(head.last, undefined)).rows === 0) return;
        await sleep(25);
      }
      throw new Error('rows stay unsealed');
    },

    verify: async (options: { tenantId?: string; anchors?: Anchor[] } = {}) => {
      const findings: Finding[] = [];
      const report = await verification.verifyAuditLog({
        ...options,
        onFinding: (finding) => findings.push(finding),
      });
      return { findings, report };
    },
  };
}

/**
 * Makes the log one that an earlier version wrote and never sealed, and takes it over. Its rows may be older than the
 * database.
 */
export async function adoptLog(database: Database): Promise<void> {
  await tamper(
    database,
    [
      `UPDATE audit_beginning SET began_at = NULL, key_id = NULL, signature = NULL, adopted_seals = 0,
         (adopted_xid, adopted_id) = (SELECT xid, id FROM audit_log ORDER BY xid DESC, id DESC LIMIT 1)`,
    ],
    [`UPDATE audit_head SET hash = decode(repeat('00', 32), 'hex'), key_id = NULL, signature = NULL`],
  );
  const report = await createAuditBeginning({ database, masterKeys: MASTER_KEYS }).begin();
  if (report.result !== 'adopted') throw new Error(`the audit log was not taken over: ${report.result}`);
}

/** Runs statements as a superuser who switches triggers off. */
export async function tamper(database: Database, ...statements: [text: string, values?: unknown[]][]) {
  return database.transaction({}, async (unit) => {
    await unit.query("SET LOCAL session_replication_role = 'replica'");
    let changed = 0;
    for (const [text, values] of statements) changed += (await unit.query(text, values)).rowCount;
    if (changed === 0) throw new Error('nothing was tampered with');
  });
}
