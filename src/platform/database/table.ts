// Descriptions of tables. Sequelize's models and the types of rows are derived from them.
// docs/decisions/0003-one-pool.md
import type { DataType, DataTypes } from 'sequelize';
import { inSnakeCase } from '../columns.ts';

declare const VALUE: unique symbol;
declare const OPTIONAL: unique symbol;

type TypeOf = (types: typeof DataTypes) => DataType;

/**
 * `sql`: the type in Postgres. `typeOf`: the type in Sequelize. `isGiven`: the column has a default, so an insert may
 * omit it.
 */
export type Column<Value = unknown, Optional extends boolean = boolean> = {
  readonly sql: string;
  readonly typeOf: TypeOf;
  readonly isNullable: boolean;
  readonly isGiven: boolean;
  readonly isKey: boolean;
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
  traits: Partial<Pick<Column, 'isNullable' | 'isGiven' | 'isKey'>> = {},
): Column<Value, Optional> => ({ sql, typeOf, isNullable: false, isGiven: false, isKey: false, ...traits });

export const uuid = () => column<string>('uuid', (types) => types.UUID);
export const text = <Value extends string = string>() => column<Value>('text', (types) => types.TEXT);
export const texts = <Text extends string = string>() =>
  column<readonly Text[]>('text[]', (types) => types.ARRAY(types.TEXT));
export const bytes = <Value extends Uint8Array = Uint8Array>() =>
  column<Value>('bytea', (types) => types.BLOB);
export const json = <Value>() => column<Value>('jsonb', (types) => types.JSONB);
export const boolean = () => column<boolean>('boolean', (types) => types.BOOLEAN);
export const integer = () => column<number>('integer', (types) => types.INTEGER);
export const bigint = () => column<number>('bigint', (types) => types.BIGINT);
export const time = () => column<Date>('timestamp(3) with time zone', (types) => types.DATE(3));

export const primaryKey = <C extends Column>(of: C): C => ({ ...of, isKey: true });

export const nullable = <Value>({ sql, typeOf }: Column<Value, false>) =>
  column<Value | null, true>(sql, typeOf, { isNullable: true });

export const given = <Value>({ sql, typeOf }: Column<Value, false>) =>
  column<Value, true>(sql, typeOf, { isGiven: true });

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
 * Columns for a SELECT or RETURNING, each renamed to its attribute.
 * @param options.of the table's alias in the statement
 */
export function selectList<T extends Table, Name extends keyof T['columns'] & string>(
  _table: T,
  names: readonly Name[],
  options: { readonly of?: string } = {},
): string {
  const prefix = options.of === undefined ? '' : `${options.of}.`;
  return names
    .map((name) =>
      inSnakeCase(name) === name ? `${prefix}${name}` : `${prefix}${inSnakeCase(name)} AS "${name}"`,
    )
    .join(', ');
}
