// Asks before each statement of a pool: those of handwritten SQL, of models, BEGIN and COMMIT all pass here.
import type { Pool, PoolClient } from 'pg';

export type Sending = {
  readonly client: PoolClient;
  readonly text: string;
  /** Sends the statement. */
  readonly send: () => Promise<unknown>;
};

type Query = (...values: unknown[]) => Promise<unknown>;
type Statement = string | { readonly text: string };
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
      const altered = typeof statement === 'string' ? text : { ...statement, text };
      const answer = pass({ client, text, send: () => query(altered, ...rest) });
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
