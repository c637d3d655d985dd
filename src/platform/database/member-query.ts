// A query whose rows have members: the column `tenant_id` is `tenantId`, so no statement says a name twice.
import pg, { type QueryConfig, type QueryResult } from 'pg';

type Description = { readonly fields: { name: string }[] };

/** What the driver calls with the columns of an answer, before the first row. */
type Submittable = { handleRowDescription(description: Description): void };

const members = new Map<string, string>();

/** Turns the name of a column into that of its member: `tenant_id` into `tenantId`. Other names stay. */
export function memberOf(column: string): string {
  let member = members.get(column);
  if (member === undefined) {
    member = column.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
    members.set(column, member);
  }
  return member;
}

const { handleRowDescription } = pg.Query.prototype as unknown as Submittable;

class MemberQuery extends pg.Query {
  handleRowDescription(description: Description): void {
    for (const field of description.fields) field.name = memberOf(field.name);
    handleRowDescription.call(this, description);
  }
}

/** What takes a query and calls back: a pool, or one of its clients. */
type Connection = {
  query(query: pg.Query, done: (error: Error | null | undefined, result: QueryResult) => void): unknown;
};

/** Sends a query. @throws the driver's errors, with the stack of the sender */
export async function sendForMembers(connection: Connection, config: QueryConfig): Promise<QueryResult> {
  try {
    return await new Promise((resolve, reject) => {
      connection.query(new MemberQuery(config), (error, result) => (error ? reject(error) : resolve(result)));
    });
  } catch (error) {
    if (error instanceof Error) Error.captureStackTrace(error);
    throw error;
  }
}
