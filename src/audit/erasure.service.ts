// Signs and shows the certificates of erased tenants, with the keys that sign the audit log.
// docs/decisions/0045-erasure.md

import type { Queryable, Transaction } from '../platform/database/transaction.ts';
import { ServiceError } from '../platform/errors/service-error.ts';
import { Service } from '../platform/service.ts';
import { keepKey, readKeys } from './checkpoint.store.ts';
import { type AuditKey, createCheckpointSigner, verifyByKnown } from './checkpoint-signature.node.ts';
import * as store from './erasure.store.ts';
import { type Erasure, erasureStatement, isErasureOf } from './erasure.ts';
import { noteKeyOf, writeNote } from './note.node.ts';

/** `note`: the certificate as a C2SP signed note; `key`: what verifies it. */
export type ShownCertificate = Pick<Erasure, 'tenantId' | 'slug' | 'erasedAt'> & {
  readonly note: string;
  readonly key: string;
};

export class ErasureCertificateService extends Service<{
  database: Queryable;
  /** Needed to sign only. */
  auditKeys: readonly AuditKey[];
}> {
  /** Returns whether rows of the tenant are not sealed yet: no certificate can be made before they are. */
  hasUnsealed = (tenantId: string): Promise<boolean> => store.hasUnsealed(this.needs.database, tenantId);

  /** Signs and stores what was removed, in the transaction that removes the tenant's last row. */
  certify = async (transaction: Transaction, erasure: Erasure): Promise<void> => {
    const signer = createCheckpointSigner({ auditKeys: this.needs.auditKeys });
    const { keyId } = signer;
    await keepKey(transaction, keyId, signer.publicKey);
    const statement = erasureStatement(erasure);
    const { tenantId, slug, erasedAt } = erasure;
    const signature = signer.sign(statement);
    await store.insert(transaction, tenantId, slug, erasedAt, statement, keyId, signature);
  };

  /** Returns whether the tenant has a certificate of its erasure. */
  isErased = async (tenantId: string): Promise<boolean> =>
    (await store.find(this.needs.database, tenantId)) !== undefined;

  /**
   * Returns the certificate of an erased tenant.
   * @param by its slug or its id
   * @throws ServiceError `not_found`; `conflict` when it is not as it was signed
   */
  show = async (by: string): Promise<ShownCertificate> => {
    const found = await store.find(this.needs.database, by);
    if (found === undefined)
      throw new ServiceError('not_found', { detail: `No tenant ${by} has been erased.` });
    const { tenantId, slug, erasedAt, statement: text, keyId, signature } = found;
    const keys = await readKeys(this.needs.database);
    const publicKey = keys.get(keyId);
    const isSigned = verifyByKnown(text, { keyId, bytes: signature }, keys) && isErasureOf(text, tenantId);
    if (publicKey === undefined || !isSigned)
      throw new ServiceError('conflict', { detail: 'The certificate is not as it was signed.' });
    const note = writeNote(tenantId, { text, signature }, publicKey);
    return { tenantId, slug, erasedAt, note, key: noteKeyOf(tenantId, publicKey) };
  };
}
