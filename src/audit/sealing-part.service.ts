// Prepares the next seal by parts: one sealer plans them, each sealer takes one after the other. A part goes back when
// the transaction that makes it ends without a result, so also when its process dies.
// docs/decisions/0049-parts-of-a-seal.md
import type { Database } from '../platform/database/database.ts';
import type { Transaction } from '../platform/database/transaction.ts';
import type { AuditRow } from './audit-row.ts';
import * as store from './checkpoint.store.ts';
import { type Head, hex, type Position } from './checkpoint.ts';
import { addRow, continueChains, nameInSeal, type RowShare } from './checkpoint-chain.node.ts';
import type { CheckpointSigner } from './checkpoint-signature.node.ts';
import {
  type Assignment,
  countRows,
  hashOf,
  joinParts,
  openAssignment,
  type PreparedSeal,
  signAssignment,
  signResult,
} from './sealing-part.node.ts';
import * as partStore from './sealing-part.store.ts';
import { readTrustedHead } from './trusted-head.store.ts';

/** A planned seal has at most this many times the rows of another one; a part has about a quarter of these. */
const SEALS_AT_ONCE = 4;
const PARTS_OF_A_SEAL = 4;

export type SealingPartTools = {
  readonly database: Pick<Database, 'transaction'>;
  readonly signer: CheckpointSigner;
  readonly sealRows: number;
  readonly pageRows: number;
};

/**
 * Plans the parts of the seal after the head, when more rows wait than one seal takes, of more than one tenant.
 * @param unit holds the lock of sealing
 */
export async function planParts(
  { signer, sealRows }: SealingPartTools,
  unit: Transaction,
  head: Head,
  sealedAt: string,
): Promise<void> {
  const waiting = await partStore.countNext(unit, head.last, SEALS_AT_ONCE * sealRows);
  const [first] = waiting;
  const shares = divide(waiting, Math.ceil(sealRows / PARTS_OF_A_SEAL));
  if (first === undefined || shares.length < 2 || countRows({ tenants: shares.flat() }) < sealRows) return;
  const plan = {
    n: head.n + 1,
    previous: hex(head.hash),
    last: first.last,
    sealedAt,
    of: shares.length,
  };
  const assignments = shares.map((tenants, part) => signAssignment(signer, { ...plan, part, tenants }));
  await partStore.insertParts(unit, assignments);
}

/**
 * Makes one part.
 * @returns `made`; `none`: others make all that are left; `unfit`: the parts are not those of the next seal
 */
export function makePart(tools: SealingPartTools): Promise<'made' | 'none' | 'unfit'> {
  const { database, signer } = tools;
  return database.transaction({}, async (unit) => {
    const taken = await partStore.takePart(unit);
    if (taken === undefined) return 'none';
    const head = await readTrustedHead(signer, unit);
    const assignment = openAssignment(signer, taken.assignment, head);
    if (assignment === undefined) return 'unfit';
    const checkpoints = await makeCheckpoints(tools, unit, assignment, head.last);
    if (checkpoints === undefined) return 'unfit';
    const text = store.toCheckpointJson(checkpoints);
    if (head.signature?.keyId !== signer.keyId) await store.keepKey(unit, signer.keyId, signer.publicKey);
    const result = signResult(signer, {
      assignment: hashOf(taken.assignment.text),
      digest: hashOf(text),
      checkpoints: checkpoints.map(nameInSeal).map((one) => ({ ...one, hash: hex(one.hash) })),
    });
    await partStore.keepResult(unit, taken.part, result, text);
    return 'made';
  });
}

/**
 * Writes the checkpoints of the seal after the head from its parts, when all of them are made. Parts that do not fit
 * are removed.
 * @param unit holds the lock of sealing
 * @param isUnfit whether it is known that they do not fit
 * @returns `open` while a part is not made; undefined without parts
 */
export async function takePrepared(
  { signer }: Pick<SealingPartTools, 'signer'>,
  unit: Transaction,
  head: Head,
  isUnfit: boolean,
): Promise<PreparedSeal | 'open' | undefined> {
  const parts = await partStore.listParts(unit);
  if (parts.length === 0) return undefined;
  const prepared = isUnfit ? undefined : joinParts(signer, parts, head);
  if (prepared === 'open') return prepared;
  if (prepared !== undefined) await store.insertCheckpointsOfParts(unit);
  await partStore.deleteParts(unit);
  return prepared;
}

/** @returns undefined when the rows are not those that were counted: another hand has added some */
async function makeCheckpoints(
  tools: SealingPartTools,
  unit: Transaction,
  { n, last, sealedAt, tenants }: Assignment,
  after: Position,
) {
  const shares = new Map<string, RowShare>();
  for await (const row of readRows(tools, unit, tenants, { after, last })) addRow(shares, row);
  for (const [tenantId, rows] of tenants) if (shares.get(tenantId)?.rowIds.length !== rows) return undefined;
  const before = await store.listLastCheckpoints(unit, [...shares.keys()]);
  return continueChains(tools.signer, shares, before, { seal: n, sealedAt });
}

/** Reads the rows of small tenants together, those of a great one by pages. */
async function* readRows(
  { pageRows }: SealingPartTools,
  unit: Transaction,
  tenants: Assignment['tenants'],
  { after: start, last }: { readonly after: Position; readonly last: Position },
): AsyncGenerator<AuditRow> {
  for (const group of divide(
    tenants.map(([tenantId, rows]) => ({ tenantId, rows })),
    pageRows,
  )) {
    const ids = group.map(([tenantId]) => tenantId);
    let left = countRows({ tenants: group });
    let after = start;
    while (left > 0) {
      const limit = ids.length === 1 ? pageRows : left;
      const rows = await partStore.listRowsOf(unit, ids, { after, last, limit });
      yield* rows;
      const end = rows.at(-1);
      if (end === undefined) break;
      after = { xid: end.xid, id: end.id };
      left = ids.length === 1 ? left - rows.length : 0;
    }
  }
}

/** Divides tenants into groups of about this many rows, in their order; a tenant with more is a group. */
function divide(
  tenants: readonly { readonly tenantId: string; readonly rows: number }[],
  about: number,
): (readonly [id: string, rows: number])[][] {
  const groups: (readonly [string, number])[][] = [];
  let room = 0;
  for (const { tenantId, rows } of tenants) {
    if (rows > room) {
      groups.push([]);
      room = about;
    }
    groups.at(-1)?.push([tenantId, rows]);
    room -= rows;
  }
  return groups;
}
