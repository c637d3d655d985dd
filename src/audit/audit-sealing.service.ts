// Seals the audit log: reads the rows whose transactions have ended, and appends a signed checkpoint to each tenant's
// chain. Only one process seals at a time. Each row is sealed exactly once.
// docs/decisions/0006-audit-checkpoints.md

import type { Database } from '../platform/database/database.ts';
import type { Transaction } from '../platform/database/transaction.ts';
import { createLoop, type RunningLoop } from '../platform/process/loop.ts';
import { Service } from '../platform/service.ts';
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
  /** Receives each error of the database; the sealer continues after it. */
  onFailure?: ((error: unknown) => void) | undefined;
  /** Milliseconds between two runs. */
  interval?: number | undefined;
  /** Greatest number of rows in a seal. */
  sealRows?: number | undefined;
  /** Greatest number of rows that are read together. */
  pageRows?: number | undefined;
};

/** Seals the audit log: each seal is signed, and contains a checkpoint of each tenant with new rows. */
export class AuditSealer extends Service<AuditSealerNeeds> {
  readonly #sealRows = this.needs.sealRows ?? SEAL_ROWS;
  readonly #pageRows = this.needs.pageRows ?? PAGE_ROWS;
  readonly #signer = createCheckpointSigner({ auditKeys: this.needs.auditKeys });
  readonly #interval = this.needs.interval ?? 1_000;
  readonly #onFailure = this.needs.onFailure ?? (() => undefined);

  /** Seals all rows that can be sealed now. @returns undefined when another process was sealing */
  runOnce = (): Promise<SealReport | undefined> => this.#run();

  /** Seals every `interval`. `stop` waits for the seal that is being made. */
  start = (): RunningLoop =>
    createLoop({
      run: (signal) => this.#run(signal),
      next: this.#interval,
      onFailure: this.#onFailure,
    }).start();

  /** @returns what this process has sealed; undefined when another one was sealing */
  #run = async (signal?: AbortSignal): Promise<SealReport | undefined> => {
    const report = { seals: 0, checkpoints: 0, rows: 0 };
    while (!signal?.aborted && (await store.hasWork(this.needs.database, this.#signer.keyId))) {
      const sealed = await this.#sealOnce();
      if (sealed === undefined) return report.seals === 0 ? undefined : report;
      for (const member of ['seals', 'checkpoints', 'rows'] as const) report[member] += sealed[member];
      if (sealed.rows < this.#sealRows) break;
    }
    return report;
  };

  /** Groups the next rows by tenant. Memory holds one page of rows, and the ids and hashes of one seal. */
  #collect = async (unit: Transaction, head: Head) => {
    const shares = new Map<string, RowShare>();
    const refuse = head.n === 0 ? await refuseOlder(unit) : () => undefined;
    let { last } = head;
    let count = 0;
    while (count < this.#sealRows) {
      const limit = Math.min(this.#pageRows, this.#sealRows - count);
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
    return { shares, last: count < this.#sealRows ? endOf(last.xid) : last, count };
  };

  /** Makes one seal. @returns undefined when another process is sealing */
  #sealOnce = (): Promise<SealReport | undefined> =>
    this.needs.database.transaction({}, async (unit) => {
      const turn = await store.tryLock(unit);
      if (turn === null) return undefined;
      const head = await readTrustedHead(this.#signer, unit);
      const { shares, last, count } = await this.#collect(unit, head);
      const n = head.n + 1;
      const { keyId } = this.#signer;
      if (head.signature?.keyId !== keyId) await store.keepKey(unit, keyId, this.#signer.publicKey);
      if (count === 0) {
        if (head.signature?.keyId !== keyId) await this.#signHead(unit, head);
        return { seals: 0, checkpoints: 0, rows: 0 };
      }
      const sealedAt = turn.now;
      const checkpoints = await this.#writeCheckpoints(unit, shares, { seal: n, sealedAt });
      const seal = { n, previous: head.hash, count, last, sealedAt, keyId, checkpoints };
      const statement = sealStatement(seal);
      await store.insertSeal(unit, { ...seal, signature: this.#signer.sign(statement) });
      await this.#signHead(unit, { n, hash: hashText(statement), last });
      return { seals: 1, checkpoints: checkpoints.length, rows: count };
    });

  #signHead = (unit: Transaction, { n, hash, last }: Head): Promise<void> => {
    const { keyId } = this.#signer;
    const bytes = this.#signer.sign(headStatement({ n, hash, last }, keyId));
    return store.moveHead(unit, { n, hash, last }, { keyId, bytes });
  };

  /** Appends one checkpoint to each tenant's chain. @returns the checkpoints in the form that the seal contains */
  #writeCheckpoints = async (
    unit: Transaction,
    shares: ReadonlyMap<string, RowShare>,
    seal: Pick<Checkpoint, 'seal' | 'sealedAt'>,
  ): Promise<Seal['checkpoints']> => {
    const before = await store.listLastCheckpoints(unit, [...shares.keys()]);
    const checkpoints = continueChains(this.#signer, shares, before, seal);
    await store.insertCheckpoints(unit, checkpoints);
    return checkpoints.map(nameInSeal);
  };
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
