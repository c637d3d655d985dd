// Reads all that the service keeps: each workflow of a namespace, each row of each table, and the planner's statistics.
import type { Client } from '@temporalio/client';
import type { Queryable } from '../../src/platform/database/transaction.ts';

/**
 * All that Temporal keeps of the namespace's workflows: ids, memos, search attributes, and each event of the histories.
 * @returns a text for each workflow
 */
export async function readTemporal(client: Pick<Client, 'workflow'>): Promise<string[]> {
  const parts: string[] = [];
  for await (const { workflowId, runId } of client.workflow.list()) {
    const handle = client.workflow.getHandle(workflowId, runId);
    const { raw, memo, typedSearchAttributes } = await handle.describe();
    const all = { workflowId, raw, memo, found: typedSearchAttributes, history: await handle.fetchHistory() };
    parts.push(JSON.stringify(all, (_name, value: unknown) => readable(value)));
  }
  return parts;
}

/** Payloads are bytes of JSON. Buffers write themselves as JSON before a replacer sees them. */
function readable(value: unknown): unknown {
  if (typeof value === 'bigint') return String(value);
  const bytes = value as { type?: unknown; data?: unknown } | null;
  if (bytes?.type === 'Buffer' && Array.isArray(bytes.data)) return Buffer.from(bytes.data).toString();
  return value instanceof Uint8Array ? Buffer.from(value).toString() : value;
}

/** Every row as text, by table; each partition is a table. */
export async function readRows(database: Queryable): Promise<Map<string, string>> {
  const { rows: tables } = await database.query<{ name: string }>(
    `SELECT c.oid::regclass::text AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE c.relkind = 'r' AND n.nspname = 'public'`,
  );
  const texts = new Map<string, string>();
  for (const { name } of tables) {
    const { rows } = await database.query<{ text: string }>(`SELECT t::text AS text FROM ${name} t`);
    texts.set(name, rows.map(({ text }) => text).join('\n'));
  }
  return texts;
}

/** What the planner keeps of values: of columns, expressions of indexes, and extended statistics. */
export async function readStatistics(database: Queryable): Promise<{ name: string; text: string }[]> {
  const parts = ['pg_stats', 'pg_stats_ext', 'pg_stats_ext_exprs'].map(
    (view) => `SELECT tablename AS name, s::text AS text FROM ${view} s WHERE schemaname = current_schema()`,
  );
  return (await database.query<{ name: string; text: string }>(parts.join(' UNION ALL '))).rows;
}
