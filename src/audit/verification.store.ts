// SQL that reads the audit log page by page for verification, so that memory use does not grow with the log.
import { type Flat, nestRow } from '../platform/database/nested-row.ts';
import { many, only, value } from '../platform/database/statements.ts';
import type { Queryable } from '../platform/database/transaction.ts';
import { type AuditRow, toAuditRow } from './audit-row.ts';
import {
  CHECKPOINT_COLUMNS,
  type FlatCheckpoint,
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

/** Between two positions: after the first, up to the second. */
type Between = [afterXid: string, afterId: string, untilXid: string, untilId: string];

const readRows = many<SelectedRow, [tenantId: string, ...Between]>(`
SELECT ${ROW} FROM audit_log
WHERE tenant_id = $1 AND (xid, id) > ($2::xid8, $3::uuid) AND (xid, id) <= ($4::xid8, $5::uuid)
ORDER BY xid, id LIMIT ${PAGE.rows}`);

const readCheckpoints = many<
  FlatCheckpoint<ReadCheckpoint>,
  [tenantId: string, after: number, seal: number]
>(`
SELECT ${CHECKPOINT_COLUMNS}, c.row_ids, c.leaves, c.peaks, c.nodes, (
  SELECT s.hashes[array_position(s.tenants, c.tenant_id)] FROM audit_seals s WHERE s.n = c.seal
) AS sealed_hash
FROM audit_checkpoints c WHERE c.tenant_id = $1 AND c.n > $2 AND c.seal <= $3 ORDER BY c.n LIMIT ${PAGE.lists}`);

type SealRow = Omit<StoredSeal, 'checkpoints'> & {
  readonly tenants: readonly string[];
  readonly numbers: readonly number[];
  readonly hashes: readonly Uint8Array[];
};

const readSeals = many<Flat<SealRow, 'last'>, [after: number, until: number]>(`
SELECT n, previous, count, last_xid AS "last.xid", last_id AS "last.id", tenants, numbers, hashes,
  ${milliseconds('sealed_at')} AS sealed_at, key_id, signature
FROM audit_seals WHERE n > $1 AND n <= $2 ORDER BY n LIMIT ${PAGE.lists}`);

const readMissing = many<
  { tenantId: string; n: number; seal: number },
  [from: number, to: number, tenantId: string | undefined]
>(`
SELECT e.tenant_id, e.n, s.n AS seal
FROM audit_seals s CROSS JOIN LATERAL unnest(s.tenants, s.numbers) AS e(tenant_id, n)
WHERE s.n BETWEEN $1 AND $2 AND ($3::uuid IS NULL OR e.tenant_id = $3) AND NOT EXISTS (
  SELECT 1 FROM audit_checkpoints c WHERE c.tenant_id = e.tenant_id AND c.n = e.n AND c.seal = s.n
) ORDER BY s.n, e.tenant_id`);

const findNextTenant = value<string | null, [after: string]>(`
SELECT least(
  (SELECT tenant_id FROM audit_log WHERE tenant_id > $1 ORDER BY tenant_id LIMIT 1),
  (SELECT tenant_id FROM audit_checkpoints WHERE tenant_id > $1 ORDER BY tenant_id LIMIT 1)
) AS id`);

const unsealed = (condition: string) => `
SELECT count(*)::int AS rows, ${milliseconds('min(occurred_at)')} AS oldest
FROM (SELECT occurred_at FROM audit_log WHERE (xid, id) > ($1::xid8, $2::uuid)${condition} LIMIT ${MOST_COUNTED}) AS u`;

type Unsealed = { readonly rows: number; readonly oldest: string | null };

const unsealedOfAll = only<Unsealed, [xid: string, id: string]>(unsealed(''));
const unsealedOf = only<Unsealed, [xid: string, id: string, tenantId: string]>(
  unsealed(' AND tenant_id = $3'),
);

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
        const found = await readRows(database, tenantId, after.xid, after.id, until.xid, until.id);
        const rows = found.map(({ fields }) => toAuditRow(fields));
        onPage(rows.length);
        yield* rows;
        const last = rows.at(-1);
        if (last === undefined || rows.length < PAGE.rows) return;
        after = { xid: last.xid, id: last.id };
      }
    },

    /** Yields a tenant's checkpoints in the seals up to the head, the first checkpoint first. */
    checkpoints: (tenantId: string, head: Head): AsyncGenerator<ReadCheckpoint> =>
      eachByNumber(async (after) =>
        (await readCheckpoints(database, tenantId, after, head.n)).map((row) =>
          toCheckpoint<ReadCheckpoint>(row),
        ),
      ),

    seals: (head: Head): AsyncGenerator<StoredSeal> =>
      eachByNumber(async (after) => (await readSeals(database, after, head.n)).map(toSeal)),

    /** Lists checkpoints that seals contain but that are not stored; of all tenants when `tenantId` is undefined. */
    listMissing: (from: number, to: number, tenantId: string | undefined) =>
      readMissing(database, from, to, tenantId),

    async *tenants(): AsyncGenerator<string> {
      let id: string | null = BEGINNING.id;
      for (;;) {
        id = await findNextTenant(database, id);
        if (id === null) return;
        yield id;
      }
    },

    /** Counts the rows after the last seal, up to one million. */
    countUnsealed: async ({ xid, id }: Position, tenantId: string | undefined) => {
      const { rows, oldest } =
        tenantId === undefined
          ? await unsealedOfAll(database, xid, id)
          : await unsealedOf(database, xid, id, tenantId);
      return { rows, oldest: oldest === null ? null : toTime(oldest) };
    },
  };
}

export type VerificationStore = ReturnType<typeof createVerificationStore>;

/** Yields the rows of pages of `PAGE.lists`, in the order of their numbers. */
async function* eachByNumber<Row extends { readonly n: number }>(
  read: (after: number) => Promise<Row[]>,
): AsyncGenerator<Row> {
  let after = Number.MIN_SAFE_INTEGER;
  for (;;) {
    const rows = await read(after);
    yield* rows;
    const last = rows.at(-1);
    if (last === undefined || rows.length < PAGE.lists) return;
    after = last.n;
  }
}

function toSeal(row: Flat<SealRow, 'last'>): StoredSeal {
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
