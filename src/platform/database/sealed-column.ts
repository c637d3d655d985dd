// Types of a column with sealed secrets.
import type { MasterKey } from '../crypto/secret-box.node.ts';

/**
 * `name` is the column that becomes part of the context, with the tenant. All names are constants, because they are
 * inserted into SQL unchanged.
 */
export type SealedColumn = {
  readonly table: string;
  readonly column: string;
  readonly name: string;
  /** The context for which the secret of a row is sealed. */
  readonly contextOf: (row: { readonly tenantId: string; readonly name: string }) => string;
  /** Another column that depends on the master key: `of` computes it from the column `from` and the opened secret. */
  readonly beside?:
    | {
        readonly column: string;
        readonly from: string;
        readonly of: (
          masterKeys: readonly MasterKey[],
          row: { readonly id: string; readonly tenantId: string; readonly from: Buffer },
          secret: Buffer,
        ) => string;
      }
    | undefined;
};

/** A master key with which secrets of a column are sealed. */
export type KeyInUse = { readonly table: string; readonly column: string; readonly keyId: string };
