// A column that holds sealed secrets: what is needed to find them, and to open and seal each. Types only.

/** `name`: the column that the context names beside the tenant. Names stand in SQL as they are: they are constants of a room. */
export type SealedColumn = {
  readonly table: string;
  readonly column: string;
  readonly name: string;
  /** What a secret of the row is sealed for. */
  readonly contextOf: (row: { readonly tenantId: string; readonly name: string }) => string;
};

/** A master key that secrets of a column name. */
export type KeyInUse = { readonly table: string; readonly column: string; readonly keyId: string };
