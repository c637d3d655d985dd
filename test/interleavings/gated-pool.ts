// Asks before each statement of a pool: those of handwritten SQL, of models, BEGIN and COMMIT all pass here.
import type { Pool, PoolClient } from 'pg';

export type Sending = {
  readonly client: PoolClient;
  readonly text: string;
  /** Sends the statement. */
  readonly send: () => Promise<unknown>;
};

type Query = (...values: unknown[]) => Promise<unknown>;
type Statement = string | { text: string; readonly submit?: unknown };
type Callback = (error: unknown, result?: unknown) => void;

/**
 * @param pass makes or refuses each statement, in its own time
 * @param alter the text that is sent instead; by default the same
 */
export function gatePool(
  pool: Pool,
  pass: (sending: Sending) => Promise<unknown>,
  alter: (text: string) => string = (same) => same,
): void {
  pool.on('connect', (client) => {
    const query = client.query.bind(client) as unknown as Query;
    const gated = (...values: unknown[]): Promise<unknown> | undefined => {
      const last = values.at(-1);
      const callback = typeof last === 'function' ? (values.pop() as Callback) : undefined;
      const [statement, ...rest] = values as [Statement, ...unknown[]];
      const text = alter(typeof statement === 'string' ? statement : statement.text);
      const send = () => {
        if (typeof statement === 'string') return query(text, ...rest);
        if (statement.submit === undefined) return query({ ...statement, text }, ...rest);
        // What member-query.ts sends calls back, and a copy would not have its class.
        statement.text = text;
        return new Promise<unknown>((resolve, reject) => {
          void query(statement, (error: unknown, result: unknown) =>
            error ? reject(error) : resolve(result),
          );
        });
      };
      const answer = pass({ client, text, send });
      if (callback === undefined) return answer;
      answer.then(
        (result) => callback(null, result),
        (error: unknown) => callback(error),
      );
      return undefined;
    };
    client.query = gated as unknown as PoolClient['query'];
  });
}
