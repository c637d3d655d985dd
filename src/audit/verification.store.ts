// SQL that reads the audit log page by page for verification, so that memory use does not grow with the log.
import { nestRow } from '../platform/database/nested-row.ts';
import type { Queryable } from '../platform/database/transaction.ts';
import { type AuditRow, toAuditRow } from './audit-row.ts';
import {
  CHECKPOINT_COLUMNS,
  milliseconds,
  ROW,
  type SelectedRow,
  type StoredCheckpoint,
  type StoredSeal,
  toCheckpoint,
  toTime,
} from './checkpoint.store.ts';
import { BEGINNING, type Head, type Position } from './checkpoint.ts';

/** Page sizes: `rows` for rows, `lists` for checkpoints or seals, because each of them contains a list. */
const PAGE = { rows: 1_000, lists: 20 } as const;

/** Greatest number of unsealed rows that a statement counts. */
const MOST_COUNTED = 1_000_000;

/** A checkpoint with the hash that its seal contains for it, or null when the seal does not contain the checkpoint. */
export type ReadCheckpoint = StoredCheckpoint & { readonly sealedHash: Uint8Array | null };

const ROWS = `
SELECT ${ROW} FROM audit_log
WHERE tenant_id = $1 AND (xid, id) > ($2::xid8, $3::uuid) AND (xid, id) <= ($4::xid8, $5::uuid)
ORDER BY xid, id LIMIT ${PAGE.rows}`;

const CHECKPOINTS = `
SELECT ${CHECKPOINT_COLUMNS}, c.row_ids AS "rowIds", c.leaves, c.peaks, c.nodes, (
  SELECT s.hashes[array_position(s.tenants, c.tenant_id)] FROM audit_seals s WHERE s.n = c.seal
) AS "sealedHash"
FROM audit_checkpoints c WHERE c.tenant_id = $1 AND c.n > $2 AND c.seal <= $3 ORDER BY c.n LIMIT ${PAGE.lists}`;

const SEALS = `
SELECT n, previous, count, last_xid AS "last.xid", last_id AS "last.id", tenants, numbers, hashes,
  ${milliseconds('sealed_at')} AS "sealedAt", key_id AS "keyId", signature
FROM audit_seals WHERE n > $1 AND n <= $2 ORDER BY n LIMIT ${PAGE.lists}`;

const MISSING = `
SELECT e.tenant_id AS "tenantId", e.n, s.n AS seal
FROM audit_seals s CROSS JOIN LATERAL unnest(s.tenants, s.numbers) AS e(tenant_id, n)
WHERE s.n BETWEEN $1 AND $2 AND ($3::uuid IS NULL OR e.tenant_id = $3) AND NOT EXISTS (
  SELECT 1 FROM audit_checkpoints c WHERE c.tenant_id = e.tenant_id AND c.n = e.n AND c.seal = s.n
) ORDER BY s.n, e.tenant_id`;

const NEXT_TENANT = `
SELECT least(
  (SELECT tenant_id FROM audit_log WHERE tenant_id > $1 ORDER BY tenant_id LIMIT 1),
  (SELECT tenant_id FROM audit_checkpoints WHERE tenant_id > $1 ORDER BY tenant_id LIMIT 1)
) AS id`;

const unsealed = (condition: string) => `
SELECT count(*)::int AS rows, ${milliseconds('min(occurred_at)')} AS oldest
FROM (SELECT occurred_at FROM audit_log WHERE (xid, id) > ($1::xid8, $2::uuid)${condition} LIMIT ${MOST_COUNTED}) AS u`;

type SealRow = Omit<StoredSeal, 'checkpoints'> & {
  readonly tenants: readonly string[];
  readonly numbers: readonly number[];
  readonly hashes: readonly Uint8Array[];
};

/** Creates the reader for a verification. @param database any pool; each page is one statement */
export function createVerificationStore({ database }: { database: Queryable }) {
  return {
    /** Yields a tenant's rows up to a position. @param onPage called with the number of rows of each page */
    async *rows(
      tenantId: string,
      until: Position,
      onPage: (rows: number) => void = () => undefined,
    ): AsyncGenerator<AuditRow> {
      let after = BEGINNING;
      for (;;) {
        const values = [tenantId, after.xid, after.id, until.xid, until.id];
        const { rows: selected } = await database.query<SelectedRow>(ROWS, values);
        const rows = selected.map(({ fields }) => toAuditRow(fields));
        onPage(rows.length);
        yield* rows;
        const last = rows.at(-1);
        if (last === undefined || rows.length < PAGE.rows) return;
        after = { xid: last.xid, id: last.id };
      }
    },

    /** Yields a tenant's checkpoints in the seals up to the head, the first checkpoint first. */
    async *checkpoints(tenantId: string, head: Head): AsyncGenerator<ReadCheckpoint> {
      let after = Number.MIN_SAFE_INTEGER;
      for (;;) {
        const { rows } = await database.query<{ n: number }>(CHECKPOINTS, [tenantId, after, head.n]);
        for (const row of rows) yield toCheckpoint<ReadCheckpoint>(row);
        const last = rows.at(-1);
        if (last === undefined || rows.length < PAGE.lists) return;
        after = last.n;
      }
    },

    async *seals(head: Head): AsyncGenerator<StoredSeal> {
      let after = Number.MIN_SAFE_INTEGER;
      for (;;) {
        const { rows } = await database.query<{ n: number }>(SEALS, [after, head.n]);
        for (const row of rows) yield toSeal(row);
        const last = rows.at(-1);
        if (last === undefined || rows.length < PAGE.lists) return;
        after = last.n;
      }
    },

    /** Lists checkpoints that seals contain but that are not stored; of all tenants when `tenantId` is undefined. */
    listMissing: async (from: number, to: number, tenantId: string | undefined) =>
      (
        await database.query<{ tenantId: string; n: number; seal: number }>(MISSING, [
          from,
          to,
          tenantId ?? null,
        ])
      ).rows,

    async *tenants(): AsyncGenerator<string> {
      let id: string | null = BEGINNING.id;
      for (;;) {
        const result: { rows: { id: string | null }[] } = await database.query<{ id: string | null }>(
          NEXT_TENANT,
          [id],
        );
        id = result.rows[0]?.id ?? null;
        if (id === null) return;
        yield id;
      }
    },

    /** Counts the rows after the last seal, up to one million. */
    countUnsealed: async (after: Position, tenantId: string | undefined) => {
      const { rows } = await database.query<{ rows: number; oldest: string | null }>(
        unsealed(tenantId === undefined ? '' : ' AND tenant_id = $3'),
        [after.xid, after.id, ...(tenantId === undefined ? [] : [tenantId])],
      );
      const { rows: count = 0, oldest = null } = rows[0] ?? {};
      return { rows: count, oldest: oldest === null ? null : toTime(oldest) };
    },
  };
}

export type VerificationStore = ReturnType<typeof createVerificationStore>;

function toSeal(row: object): StoredSeal {
  const { tenants, numbers, hashes, ...seal } = nestRow<SealRow>(row);
  return {
    ...seal,
    sealedAt: toTime(seal.sealedAt),
    checkpoints: tenants.map((tenantId, index) => ({
      tenantId,
      n: numbers[index] ?? 0,
      hash: hashes[index] ?? new Uint8Array(),
    })),
  };
}
