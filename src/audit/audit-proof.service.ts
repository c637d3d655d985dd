// Proves to a tenant that a row is in its log, and that a log which it saw earlier is the beginning of the one of
// today.

import type { RequestContext } from '../platform/context.ts';
import type { Queryable } from '../platform/database/transaction.ts';
import { ServiceError } from '../platform/errors/service-error.ts';
import { Service } from '../platform/service.ts';
import { type AccessRecordService, noteRead } from './access-record.service.ts';
import { find as findRecord } from './audit-reading.store.ts';
import { encodeAuditRow } from './audit-row.ts';
import { readKeys, type SignedCheckpoint } from './checkpoint.store.ts';
import { hashLeaf } from './merkle.node.ts';
import { computeProof, consistencyRanges, inclusionRanges, type Range } from './merkle-proof.node.ts';
import { noteOf } from './note.node.ts';
import * as store from './tree.store.ts';

export type InclusionProof = {
  readonly index: number;
  readonly treeSize: number;
  /** Canonical bytes of the row, of which the leaf is the hash. */
  readonly entry: Uint8Array;
  /** What the digest of the address in `entry` is over, before the address; null without an address. */
  readonly addressSalt: string | null;
  readonly leafHash: Uint8Array;
  readonly hashes: readonly Uint8Array[];
  readonly note: string;
};

export type ConsistencyProof = {
  readonly from: number;
  readonly to: number;
  readonly hashes: readonly Uint8Array[];
  readonly note: string;
};

export type AuditProofNeeds = {
  database: Queryable;
  accesses: Pick<AccessRecordService, 'note'>;
};

export class AuditProofService extends Service<AuditProofNeeds> {
  /**
   * Proves that a row is in a tree.
   * @param size that of a checkpoint; the newest when undefined
   * @throws ServiceError `not_found`, also while the row is not sealed, or not in a tree of this size
   */
  proveInclusion = async (
    context: RequestContext,
    { id, size }: { readonly id: string; readonly size: number | undefined },
  ): Promise<InclusionProof> => {
    const tenantId = context.tenant.id;
    const entry = await store.findEntry(this.needs.database, tenantId, id);
    if (entry === undefined)
      throw new ServiceError('not_found', { detail: 'There is no such audit record.' });
    const [{ treeSize }, note] = await this.#readTree(tenantId, size);
    const { index, addressSalt } = entry;
    if (index === null || index >= treeSize)
      throw new ServiceError('not_found', {
        detail: 'The audit record is not in this tree: it is sealed some seconds after it is written.',
      });
    const bytes = encodeAuditRow(entry.row);
    const hashes = await this.#prove(tenantId, inclusionRanges(index, treeSize));
    noteRead(this.needs.accesses, context, 'getAuditInclusionProof', id);
    return { index, treeSize, entry: bytes, addressSalt, leafHash: hashLeaf(bytes), hashes, note };
  };

  /**
   * Proves that a tree is the beginning of a later one.
   * @param to size of the later tree; the newest when undefined
   * @throws ServiceError `not_found` when no checkpoint has one of the sizes
   */
  proveConsistency = async (
    context: RequestContext,
    { from, to }: { readonly from: number; readonly to?: number | undefined },
  ): Promise<ConsistencyProof> => {
    const tenantId = context.tenant.id;
    const [{ treeSize }, note] = await this.#readTree(tenantId, to);
    if (from > treeSize)
      throw new ServiceError('not_found', { detail: 'The tree is smaller than the earlier one.' });
    const hashes = await this.#prove(tenantId, consistencyRanges(from, treeSize));
    noteRead(this.needs.accesses, context, 'getAuditConsistencyProof');
    return { from, to: treeSize, hashes, note };
  };

  /** Returns whether the tenant has this row. */
  exists = async (context: RequestContext, id: string): Promise<boolean> =>
    (await findRecord(this.needs.database, context.tenant.id, id)) !== undefined;

  #prove = (tenantId: string, ranges: readonly Range[]): Promise<Uint8Array[]> =>
    computeProof(ranges, (wanted) => store.readHashes(this.needs.database, tenantId, wanted));

  /** @throws ServiceError `not_found` when no checkpoint has this size */
  #readTree = async (tenantId: string, size: number | undefined): Promise<[SignedCheckpoint, string]> => {
    const [tree, keys] = await Promise.all([
      store.findTree(this.needs.database, tenantId, size),
      readKeys(this.needs.database),
    ]);
    const note = tree && noteOf(tree, keys.get(tree.keyId));
    if (tree === undefined || note === undefined)
      throw new ServiceError('not_found', { detail: 'There is no checkpoint with this tree size.' });
    return [tree, note];
  };
}
