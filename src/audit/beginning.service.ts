// Begins the audit log: `migrate` signs the beginning and the first head, once for each installation.

import type { Database } from '../platform/database/database.ts';
import type { Queryable } from '../platform/database/transaction.ts';
import { Service } from '../platform/service.ts';
import * as beginnings from './beginning.store.ts';
import { type Beginning, beginningStatement } from './beginning.ts';
import * as store from './checkpoint.store.ts';
import { BEGINNING, type Head, headStatement } from './checkpoint.ts';
import { type AuditKey, createCheckpointSigner, hashText } from './checkpoint-signature.node.ts';

/** `began`: this call signed it. */
export type BeginningReport =
  | { readonly result: 'began' | 'unchanged' }
  | { readonly result: 'refused'; readonly reason: string };

export class AuditBeginning extends Service<{
  database: Pick<Database, 'transaction'>;
  /** A key that is derived from the first one signs. */
  auditKeys: readonly AuditKey[];
  /** Each was created with a row of the log; `any`: there is one. */
  tenants: { any(unit: Queryable): Promise<boolean> };
}> {
  readonly #signer = createCheckpointSigner({ auditKeys: this.needs.auditKeys });

  /** Signs the beginning, unless it is signed. A log that has rows is refused. */
  begin = (): Promise<BeginningReport> =>
    this.needs.database.transaction({}, async (unit) => {
      const beganAt = await beginnings.lockBeginning(unit);
      const stored = await beginnings.readBeginning(unit);
      const head = await store.readHead(unit);
      if (stored === undefined || head === undefined)
        return refused(`the ${stored === undefined ? 'beginning' : 'head'} of the audit log is missing`);
      if (stored.signed !== null) return { result: 'unchanged' };
      const traces = (await beginnings.listTraces(unit)).map(({ name }) => name);
      if (await this.needs.tenants.any(unit)) traces.push('tenants');
      if (traces.length > 0)
        return refused(`the audit log is to begin, and the database has ${traces.join(', ')} already`);
      if (head.n !== 0 || head.signature !== null)
        return refused('the head of the audit log is refused: it was signed before the beginning');
      const { keyId } = this.#signer;
      const beginning: Beginning = { id: stored.id, beganAt, keyId };
      const statement = beginningStatement(beginning);
      await store.keepKey(unit, keyId, this.#signer.publicKey);
      await beginnings.signBeginning(unit, beganAt, keyId, this.#signer.sign(statement));
      const first: Head = { n: 0, hash: hashText(statement), last: BEGINNING };
      await store.moveHead(unit, first, { keyId, bytes: this.#signer.sign(headStatement(first, keyId)) });
      return { result: 'began' };
    });
}

const refused = (reason: string): BeginningReport => ({ result: 'refused', reason });
