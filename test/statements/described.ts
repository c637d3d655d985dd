// What Postgres says of a text: the columns of its answer, and its parameters.
import type pg from 'pg';
import { memberOf } from '../../src/platform/database/member-query.ts';

export type Described = {
  readonly columns: readonly {
    readonly name: string;
    readonly type: string;
    readonly isNullable: boolean | undefined;
  }[];
  readonly parameters: readonly string[];
};

type Field = { name: string; tableID: number; columnID: number; dataTypeID: number };

type Wire = {
  parse(query: { name: string; text: string; types: [] }): void;
  describe(what: { type: 'S'; name: string }): void;
  sync(): void;
};

/** A query of the driver that asks for the description of a text and does not run it. */
class Description {
  private fields: Field[] = [];
  private parameters: number[] = [];
  private failure: Error | undefined;
  private readonly text: string;
  private readonly done: (
    error: Error | undefined,
    described?: { fields: Field[]; parameters: number[] },
  ) => void;

  constructor(text: string, done: Description['done']) {
    this.text = text;
    this.done = done;
  }

  submit(wire: Wire & NodeJS.EventEmitter): void {
    wire.once('parameterDescription', ({ dataTypeIDs }: { dataTypeIDs: number[] }) => {
      this.parameters = dataTypeIDs;
    });
    wire.parse({ name: '', text: this.text, types: [] });
    wire.describe({ type: 'S', name: '' });
    wire.sync();
  }

  handleRowDescription({ fields }: { fields: Field[] }): void {
    this.fields = fields;
  }

  handleError(error: Error): void {
    this.failure = error;
    this.done(error);
  }

  handleReadyForQuery(): void {
    if (this.failure === undefined)
      this.done(undefined, { fields: this.fields, parameters: this.parameters });
  }
}

const TYPES = 'SELECT oid::int, typname AS name FROM pg_type';

// A view's column may be null as far as Postgres knows: nothing is said of it.
const COLUMNS = `
SELECT c.oid::int AS "table", a.attnum AS "column", a.attname AS name, a.attnotnull AS filled, c.relkind = 'v' AS "isView"
FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid WHERE a.attnum > 0 AND NOT a.attisdropped`;

/** Opens what describes texts by a client that is connected to a migrated database. */
export async function createDescriber(client: pg.Client) {
  const types = new Map(
    (await client.query<{ oid: number; name: string }>(TYPES)).rows.map(({ oid, name }) => [oid, name]),
  );
  const columns = new Map(
    (
      await client.query<{ table: number; column: number; name: string; filled: boolean; isView: boolean }>(
        COLUMNS,
      )
    ).rows.map(({ table, column, ...rest }) => [`${table}.${column}`, rest]),
  );
  const typeOf = (oid: number) => types.get(oid) ?? String(oid);

  /**
   * Nothing is known of an expression, of a column that an outer join may leave out, nor of one whose nulls the text
   * leaves out.
   */
  const isNullable = (text: string, { tableID, columnID }: Field): boolean | undefined => {
    const column = columns.get(`${tableID}.${columnID}`);
    if (column === undefined || column.isView) return undefined;
    if (!column.filled) return new RegExp(`\\b${column.name} IS NOT NULL\\b`).test(text) ? undefined : true;
    return /\b(LEFT|RIGHT|FULL) JOIN\b/.test(text) ? undefined : false;
  };

  return (text: string): Promise<Described> =>
    new Promise((resolve, reject) => {
      const query = new Description(text, (error, described) => {
        if (described === undefined) reject(error);
        else
          resolve({
            columns: described.fields.map((field) => ({
              name: memberOf(field.name),
              type: typeOf(field.dataTypeID),
              isNullable: isNullable(text, field),
            })),
            parameters: described.parameters.map(typeOf),
          });
      });
      client.query(query as unknown as pg.Submittable);
    });
}
