// Types of a column with sealed secrets.

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
};

/** A master key with which secrets of a column are sealed. */
export type KeyInUse = { readonly table: string; readonly column: string; readonly keyId: string };
