// Seals the audit log: reads the rows whose transactions have ended, and appends a signed checkpoint to each tenant's
// chain. Only one process seals at a time. Each row is sealed exactly once.
// docs/decisions/0006-audit-checkpoints.md
import type { Database } from '../platform/database/database.ts';
import type { Transaction } from '../platform/database/transaction.ts';
import { createLoop, type RunningLoop } from '../platform/process/loop.ts';
import type { AuditRow } from './audit-row.ts';
import { readBeginning } from './beginning.store.ts';
import { isBefore } from './beginning.ts';
import * as store from './checkpoint.store.ts';
import { type Checkpoint, endOf, type Head, headStatement, type Seal, sealStatement } from './checkpoint.ts';
import { addRow, continueChains, nameInSeal, type RowShare } from './checkpoint-chain.node.ts';
import { type AuditKey, createCheckpointSigner, hashText } from './checkpoint-signature.node.ts';
import { readTrustedHead } from './trusted-head.store.ts';

export type SealReport = { readonly seals: number; readonly checkpoints: number; readonly rows: number };

/** Greatest number of rows in one seal, and in one page. The process can do other work between two pages. */
const SEAL_ROWS = 10_000;
const PAGE_ROWS = 1_000;

export type AuditSealerNeeds = {
  database: Pick<Database, 'query' | 'transaction'>;
  auditKeys: readonly AuditKey[];
  onFailure?: ((error: unknown) => void) | undefined;
  interval?: number | undefined;
  sealRows?: number | undefined;
  pageRows?: number | undefined;
};

/**
 * @param needs.onFailure receives each error of the database; the sealer continues after it
 * @param needs.interval milliseconds between two runs
 * @param needs.sealRows, needs.pageRows greatest number of rows in a seal, and in a page
 */
export function createAuditSealer(needs: AuditSealerNeeds) {
  const tools = prepareSealer(needs);
  const { interval = 1_000, onFailure = () => undefined } = needs;
  return {
    /** Seals all rows that can be sealed now. @returns undefined when another process was sealing */
    runOnce: (): Promise<SealReport | undefined> => run(tools),

    /** Seals every `interval`. `stop` waits for the seal that is being made. */
    start: (): RunningLoop =>
      createLoop({ run: (signal) => run(tools, signal), next: interval, onFailure }).start(),
  };
}

type SealerTools = ReturnType<typeof prepareSealer>;

function prepareSealer({
  database,
  auditKeys,
  sealRows = SEAL_ROWS,
  pageRows = PAGE_ROWS,
}: AuditSealerNeeds) {
  return { database, sealRows, pageRows, signer: createCheckpointSigner({ auditKeys }) };
}

/** @returns what this process has sealed; undefined when another one was sealing */
async function run(tools: SealerTools, signal?: AbortSignal): Promise<SealReport | undefined> {
  const { database, signer, sealRows } = tools;
  const report = { seals: 0, checkpoints: 0, rows: 0 };
  while (!signal?.aborted && (await store.hasWork(database, signer.keyId))) {
    const sealed = await sealOnce(tools);
    if (sealed === undefined) return report.seals === 0 ? undefined : report;
    for (const member of ['seals', 'checkpoints', 'rows'] as const) report[member] += sealed[member];
    if (sealed.rows < sealRows) break;
  }
  return report;
}

/** Groups the next rows by tenant. Memory holds one page of rows, and the ids and hashes of one seal. */
async function collect({ sealRows, pageRows }: SealerTools, unit: Transaction, head: Head) {
  const shares = new Map<string, RowShare>();
  const refuse = head.n === 0 ? await refuseOlder(unit) : () => undefined;
  let { last } = head;
  let count = 0;
  while (count < sealRows) {
    const limit = Math.min(pageRows, sealRows - count);
    const rows = await store.listFinishedRows(unit, last, limit);
    for (const row of rows) {
      refuse(row);
      addRow(shares, row);
    }
    const end = rows.at(-1);
    if (end !== undefined) last = { xid: end.xid, id: end.id };
    count += rows.length;
    if (rows.length < limit) break;
  }
  // All rows of the last transaction were read. Therefore the seal covers that transaction to its end, and
  // verification reports any row that is added to it later.
  return { shares, last: count < sealRows ? endOf(last.xid) : last, count };
}

/** Makes one seal. @returns undefined when another process is sealing */
function sealOnce(tools: SealerTools): Promise<SealReport | undefined> {
  const { database, signer } = tools;
  return database.transaction({}, async (unit) => {
    const turn = await store.tryLock(unit);
    if (turn === null) return undefined;
    const head = await readTrustedHead(signer, unit);
    const { shares, last, count } = await collect(tools, unit, head);
    const n = head.n + 1;
    const { keyId } = signer;
    if (head.signature?.keyId !== keyId) await store.keepKey(unit, keyId, signer.publicKey);
    if (count === 0) {
      if (head.signature?.keyId !== keyId) await signHead(tools, unit, head);
      return { seals: 0, checkpoints: 0, rows: 0 };
    }
    const sealedAt = turn.now;
    const checkpoints = await writeCheckpoints(tools, unit, shares, { seal: n, sealedAt });
    const seal = { n, previous: head.hash, count, last, sealedAt, keyId, checkpoints };
    const statement = sealStatement(seal);
    await store.insertSeal(unit, { ...seal, signature: signer.sign(statement) });
    await signHead(tools, unit, { n, hash: hashText(statement), last });
    return { seals: 1, checkpoints: checkpoints.length, rows: count };
  });
}

function signHead({ signer }: SealerTools, unit: Transaction, { n, hash, last }: Head): Promise<void> {
  const { keyId } = signer;
  const bytes = signer.sign(headStatement({ n, hash, last }, keyId));
  return store.moveHead(unit, { n, hash, last }, { keyId, bytes });
}

/** Appends one checkpoint to each tenant's chain. @returns the checkpoints in the form that the seal contains */
async function writeCheckpoints(
  { signer }: SealerTools,
  unit: Transaction,
  shares: ReadonlyMap<string, RowShare>,
  seal: Pick<Checkpoint, 'seal' | 'sealedAt'>,
): Promise<Seal['checkpoints']> {
  const before = await store.listLastCheckpoints(unit, [...shares.keys()]);
  const checkpoints = continueChains(signer, shares, before, seal);
  await store.insertCheckpoints(unit, checkpoints);
  return checkpoints.map(nameInSeal);
}

/** Returns a check of the rows of the first seal: none is older than the log. */
async function refuseOlder(unit: Transaction): Promise<(row: AuditRow) => void> {
  const signed = (await readBeginning(unit))?.signed;
  if (signed == null)
    throw new Error('the beginning of the audit log is missing or unsigned: nothing more is sealed');
  return ({ id, occurred_at }) => {
    if (isBefore(signed.beginning, Number(occurred_at)))
      throw new Error(`the row ${id} is older than the audit log: nothing more is sealed`);
  };
}
