// Descriptions of tables: each table has one, in the room that owns it. Sequelize's models, the types of rows, select
// lists and batches are derived from them.
// docs/decisions/0003-one-pool.md
import type { DataType, DataTypes } from 'sequelize';
import { columnsOf, type Derived, inSnakeCase } from '../columns.ts';

declare const VALUE: unique symbol;
declare const OPTIONAL: unique symbol;

type TypeOf = (types: typeof DataTypes) => DataType;

/**
 * `sql`: the type in Postgres. `typeOf`: the type in Sequelize. `isGiven`: the column has a default, so an insert may
 * omit it. `isSealed`: a master key seals the value.
 */
export type Column<Value = unknown, Optional extends boolean = boolean> = {
  readonly sql: string;
  readonly typeOf: TypeOf;
  readonly isNullable: boolean;
  readonly isGiven: boolean;
  readonly isKey: boolean;
  readonly isSealed: boolean;
  readonly [VALUE]?: Value;
  readonly [OPTIONAL]?: Optional;
};

export type Columns = Readonly<Record<string, Column>>;

/** The keys are the attributes in camelCase; the database has the same names in snake_case. */
export type Table<C extends Columns = Columns> = { readonly name: string; readonly columns: C };

type ValueOf<C> = C extends Column<infer Value> ? Value : never;
type OptionalNames<C> = { [Name in keyof C]: C[Name] extends Column<unknown, true> ? Name : never }[keyof C];

export type RowOf<T extends Table> = { readonly [Name in keyof T['columns']]: ValueOf<T['columns'][Name]> };

/** A row for an insert: columns that are nullable or have a default are optional. */
export type NewRowOf<T extends Table> = Omit<RowOf<T>, OptionalNames<T['columns']>> &
  Partial<Pick<RowOf<T>, OptionalNames<T['columns']>>>;

export function defineTable<C extends Columns>(name: string, columns: C): Table<C> {
  return { name, columns };
}

const column = <Value, Optional extends boolean = false>(
  sql: string,
  typeOf: TypeOf,
): Column<Value, Optional> => ({
  sql,
  typeOf,
  isNullable: false,
  isGiven: false,
  isKey: false,
  isSealed: false,
});

export const uuid = () => column<string>('uuid', (types) => types.UUID);
export const uuids = () => column<readonly string[]>('uuid[]', (types) => types.ARRAY(types.UUID));
export const text = <Value extends string = string>() => column<Value>('text', (types) => types.TEXT);
export const texts = <Text extends string = string>() =>
  column<readonly Text[]>('text[]', (types) => types.ARRAY(types.TEXT));
export const bytes = <Value extends Uint8Array = Uint8Array>() =>
  column<Value>('bytea', (types) => types.BLOB);
export const byteStrings = () => column<readonly Uint8Array[]>('bytea[]', (types) => types.ARRAY(types.BLOB));
export const json = <Value>() => column<Value>('jsonb', (types) => types.JSONB);
export const boolean = () => column<boolean>('boolean', (types) => types.BOOLEAN);
export const smallint = () => column<number>('smallint', (types) => types.SMALLINT);
export const integer = () => column<number>('integer', (types) => types.INTEGER);
export const bigint = () => column<number>('bigint', (types) => types.BIGINT);
export const bigints = () => column<readonly number[]>('bigint[]', (types) => types.ARRAY(types.BIGINT));
export const float = () => column<number>('double precision', (types) => types.DOUBLE);
/** The id of a transaction, in decimal digits. */
export const transactionId = () => column<string>('xid8', (types) => types.TEXT);
export const date = () => column<Date>('date', (types) => types.DATEONLY);
export const time = () => column<Date>('timestamp(3) with time zone', (types) => types.DATE(3));
/** A time with microseconds, which statements compare. Dates of JavaScript have milliseconds. */
export const exactTime = () => column<Date>('timestamp with time zone', (types) => types.DATE(6));

export const primaryKey = <C extends Column>(of: C): C => ({ ...of, isKey: true });
export const sealed = <C extends Column>(of: C): C => ({ ...of, isSealed: true });

export const nullable = <Value, Optional extends boolean>(of: Column<Value, Optional>) =>
  ({ ...of, isNullable: true }) as Column<Value | null, true>;

export const given = <Value, Optional extends boolean>(of: Column<Value, Optional>) =>
  ({ ...of, isGiven: true }) as Column<Value, true>;

/** The columns that the rows of tenants begin with. */
export const TENANT_ROW = { id: primaryKey(uuid()), tenantId: uuid(), createdAt: given(time()) };

/** All attributes of a table but those in `without`, for a SELECT of whole rows. */
export function columnNames<T extends Table>(
  table: T,
  without: readonly (keyof T['columns'])[] = [],
): (keyof T['columns'] & string)[] {
  return Object.keys(table.columns).filter((name) => !without.includes(name));
}

/**
 * Columns for a SELECT or RETURNING of a statement (statements.ts), whose rows have the attributes as members.
 * @param options.of the table's alias in the statement
 */
export function selectList<T extends Table, Name extends keyof T['columns'] & string>(
  _table: T,
  names: readonly Name[],
  options: { readonly of?: string } = {},
): string {
  const prefix = options.of === undefined ? '' : `${options.of}.`;
  return names.map((name) => `${prefix}${inSnakeCase(name)}`).join(', ');
}

/**
 * The columns of a batch of records, for its statement and for its values: those of the table as they are, and others.
 * @param derived column → SQL type, and the value of a record
 */
export function batchOf<
  T extends Table,
  Name extends keyof T['columns'] & string,
  Row extends { readonly [Column in Name]: unknown } = Pick<RowOf<T>, Name>,
>(table: T, names: readonly Name[], derived: Derived<Row> = {}) {
  const taken = names.map((name) => [
    inSnakeCase(name),
    [table.columns[name]?.sql ?? '', (row: Row): unknown => row[name]] as const,
  ]);
  return columnsOf<Row>({}, { ...Object.fromEntries(taken), ...derived });
}
