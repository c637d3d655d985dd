// Reads the head of the audit log for those who seal: only what a present audit key has signed is continued.
import type { Queryable } from '../platform/database/transaction.ts';
import { HEADLESS, readHead, type StoredHead } from './checkpoint.store.ts';
import { type CheckpointSigner, faultOfHead } from './checkpoint-signature.node.ts';

/** @throws Error for a head that is not the one that was signed last, because its rows may have been replaced */
export async function readTrustedHead(signer: CheckpointSigner, unit: Queryable): Promise<StoredHead> {
  const head = await readHead(unit);
  if (head === undefined) throw new Error(HEADLESS);
  const fault = faultOfHead(head, signer);
  if (fault !== undefined)
    throw new Error(`the head of the audit log is refused (${fault}): nothing more is sealed`);
  return head;
}
