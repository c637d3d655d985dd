// The audit log with its sealer and its verification over one database, and a superuser's hand in it.

import { setTimeout as sleep } from 'node:timers/promises';
import { AuditProofService } from '../../src/audit/audit-proof.service.ts';
import { AuditReadingService } from '../../src/audit/audit-reading.service.ts';
import { AuditSealer } from '../../src/audit/audit-sealing.service.ts';
import { AuditVerificationService } from '../../src/audit/audit-verification.service.ts';
import { readBeginning } from '../../src/audit/beginning.store.ts';
import { beginningStatement } from '../../src/audit/beginning.ts';
import * as checkpoints from '../../src/audit/checkpoint.store.ts';
import { BEGINNING, type Head, headStatement } from '../../src/audit/checkpoint.ts';
import {
  type AuditKey,
  createCheckpointSigner,
  hashText,
} from '../../src/audit/checkpoint-signature.node.ts';
import type { KnownUsers } from '../../src/audit/named-users.service.ts';
import { createVerificationStore } from '../../src/audit/verification.store.ts';
import type { Anchor, Finding } from '../../src/audit/verification.ts';
import type { RequestContext } from '../../src/platform/context.ts';

import type { Database } from '../../src/platform/database/database.ts';
import { RecordService } from '../../src/webhooks/intake/record.service.ts';
import { AUDIT_KEYS } from '../setup/database.ts';

const NOBODY: KnownUsers = { list: async () => new Map() };

export type Sealing = ReturnType<typeof createSealing>;

/** Wires the room. @param options.sealRows, options.pageRows small, so that a few rows take many seals and pages */
export function createSealing(
  database: Database,
  options: {
    auditKeys?: readonly AuditKey[];
    sealRows?: number;
    pageRows?: number;
    users?: KnownUsers;
  } = {},
) {
  const { auditKeys = AUDIT_KEYS, sealRows, pageRows, users = NOBODY } = options;

  const records = new RecordService({ notifier: { poke: () => undefined } });
  const newSealer = () => new AuditSealer({ database, auditKeys, sealRows, pageRows, interval: 50 });
  const sealer = newSealer();
  const store = createVerificationStore({ database });
  const verification = new AuditVerificationService({ database, store, auditKeys });
  return {
    records,
    checkpoints,
    newSealer,
    sealer,
    verification,
    reading: new AuditReadingService({ database, accesses: { note: () => undefined }, users }),
    proofs: new AuditProofService({ database, accesses: { note: () => undefined } }),

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

/** Makes the log one that began some days ago, so that its rows may be older than the database. */
export async function beginEarlier(database: Database, days: number): Promise<void> {
  const stored = await readBeginning(database);
  if (stored === undefined) throw new Error('no beginning');
  const signer = createCheckpointSigner({ auditKeys: AUDIT_KEYS });
  const { keyId } = signer;
  const beganAt = new Date(Date.now() - days * 86_400_000).toISOString();
  const statement = beginningStatement({ id: stored.id, beganAt, keyId });
  const head: Head = { n: 0, hash: hashText(statement), last: BEGINNING };
  await tamper(
    database,
    ['UPDATE audit_beginning SET began_at = $1, signature = $2', [beganAt, signer.sign(statement)]],
    ['UPDATE audit_head SET hash = $1, signature = $2', [head.hash, signer.sign(headStatement(head, keyId))]],
  );
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
