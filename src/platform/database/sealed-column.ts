// Types of a column that holds sealed secrets: how its secrets are found, opened and sealed.

/**
 * `name`: the column that the context names beside the tenant. Names are inserted into SQL unchanged: they are
 * constants of a room.
 */
export type SealedColumn = {
  readonly table: string;
  readonly column: string;
  readonly name: string;
  /** The context for which a row's secret is sealed. */
  readonly contextOf: (row: { readonly tenantId: string; readonly name: string }) => string;
};

/** A master key that sealed secrets of a column name. */
export type KeyInUse = { readonly table: string; readonly column: string; readonly keyId: string };
