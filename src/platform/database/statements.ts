// Statements as values: a text with the types of its parameters and of its rows. `test/statements` prepares
// each on a migrated database and compares these types with what Postgres says.
// docs/decisions/0052-statements-as-values.md
import { type Page, type PageRequest, toPage } from './page.ts';
import type { Queryable, Rows } from './transaction.ts';

/** Runs the statement. @throws ServiceError `temporarily_unavailable` when the database is down */
export type Statement<Values extends readonly unknown[], Answer> = {
  (queryable: Queryable, ...values: Values): Promise<Answer>;
  readonly text?: string;
};

/**
 * A statement with many rows. The forms below have the same parameters.
 * @template Row its members are the columns in camelCase: `tenantId` of `tenant_id`
 * @template Values the types of `$1`, `$2` …; undefined is NULL
 */
export const many = <Row extends object, Values extends readonly unknown[] = []>(
  text: string,
): Statement<Values, Row[]> => make<Row, Values, Row[]>(text, ({ rows }) => rows);

/** A statement with one row, or none: then undefined. */
export const one = <Row extends object, Values extends readonly unknown[] = []>(
  text: string,
): Statement<Values, Row | undefined> => make<Row, Values, Row | undefined>(text, ({ rows }) => rows[0]);

/** A statement that always has one row, such as an aggregate or an INSERT … RETURNING. */
export const only = <Row extends object, Values extends readonly unknown[] = []>(
  text: string,
): Statement<Values, Row> => make<Row, Values, Row>(text, onlyRow);

/** A statement that always has one row, of one column: the answer is its value. */
export const value = <Value, Values extends readonly unknown[] = []>(
  text: string,
): Statement<Values, Value> =>
  make<Record<string, Value>, Values, Value>(text, (rows) => Object.values(onlyRow(rows))[0] as Value);

/** A statement that is only run. */
export const done = <Values extends readonly unknown[] = []>(text: string): Statement<Values, void> =>
  make<object, Values, void>(text, () => undefined);

/** A statement whose only question is whether it has found, made or changed a row. */
export const changed = <Values extends readonly unknown[] = []>(text: string): Statement<Values, boolean> =>
  make<object, Values, boolean>(text, ({ rowCount }) => rowCount > 0);

/** A statement whose only question is how many rows it has found, made or changed. */
export const counted = <Values extends readonly unknown[] = []>(text: string): Statement<Values, number> =>
  make<object, Values, number>(text, ({ rowCount }) => rowCount);

/**
 * A list in pages, the newest first: `id < $1` where `$1` is not NULL, as far as `LIMIT $2`. Its own parameters are
 * `$3` and those after it.
 */
export function paged<Row extends { readonly id: string }, Values extends readonly unknown[] = []>(
  text: string,
) {
  const read = many<Row, [cursor: string | undefined, limit: number, ...Values]>(text);
  return async (
    queryable: Queryable,
    { limit, cursor }: PageRequest,
    ...values: Values
  ): Promise<Page<Row>> => toPage(await read(queryable, cursor, limit + 1, ...values), limit);
}

function onlyRow<Row extends object>({ rows: [row] }: Rows<Row>): Row {
  if (row === undefined) throw new Error('a statement that always has a row had none');
  return row;
}

function make<Row extends object, Values extends readonly unknown[], Answer>(
  text: string,
  answer: (rows: Rows<Row>) => Answer,
): Statement<Values, Answer> {
  const run = async (queryable: Queryable, ...values: Values) =>
    answer(await queryable.query<Row>(text, values, 'camelCase'));
  return Object.assign(run, { text });
}
