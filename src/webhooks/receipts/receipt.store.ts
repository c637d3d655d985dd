// SQL of receipts. The state of a receiver is that of its delivery's row, so no attempt writes anything for a receipt.
import { deleteOldest } from '../../platform/database/deletion.ts';
import { keptFrom } from '../../platform/database/kept-days.ts';
import { changed, many, one, paged, value } from '../../platform/database/statements.ts';
import { batchOf, columnNames, selectList } from '../../platform/database/table.ts';
import type { Queryable } from '../../platform/database/transaction.ts';
import { listBy } from '../../platform/temporal/expected-workflows.ts';
import { RECEIPT, type ReceiptRow } from './receipt.model.ts';
import type { Receiver } from './receipt.ts';

export type ReceiptName = { readonly tenantId: string; readonly id: string };

const COLUMNS = selectList(RECEIPT, columnNames(RECEIPT));

// A delivery's id begins like its event's. The bounds let the statement open only the partition of that time.
const readReceivers = many<
  Omit<Receiver, 'acknowledgedAt'> & { readonly completedAt: Date | null },
  [tenantId: string, id: string, least: string, greatest: string]
>(`
SELECT d.subscription_id, d.id AS delivery_id, CASE WHEN s.stream_audience IS NULL THEN 'webhook' ELSE 'stream' END AS kind,
  s.host, d.completed_at, d.attempt_count AS attempts, d.last_error,
  CASE d.shown_status WHEN 'delivered' THEN 'acknowledged' WHEN 'failed' THEN 'failed' WHEN 'canceled' THEN 'canceled'
    ELSE CASE WHEN endpoint_is_open(p) AND p.state <> 'down' OR s.url = 'urn:ietf:rfc:8936' THEN 'waiting' ELSE 'held' END END AS state
FROM delivery_records d JOIN subscriptions s ON s.id = d.subscription_id JOIN endpoints p ON p.subscription_id = d.subscription_id
WHERE d.event_row = $2 AND d.tenant_id = $1 AND d.id BETWEEN $3 AND $4
ORDER BY d.id`);

const NEW = batchOf(RECEIPT, ['id', 'agentId', 'cause', 'receivers']);

const insert = changed<[tenantId: string, ...columns: unknown[][]]>(`
INSERT INTO receipts (id, tenant_id, agent_id, cause, receivers, completed_at)
SELECT id, $1, agent_id, cause, receivers, CASE WHEN receivers = 0 THEN now() END
FROM ${NEW.from('r', 2)}
ON CONFLICT DO NOTHING`);

/** Inserts receipts; one without receivers is complete. */
export async function open(
  unit: Queryable,
  tenantId: string,
  receipts: Parameters<typeof NEW.of>[0],
): Promise<void> {
  await insert(unit, tenantId, ...NEW.of(receipts));
}

const READ = `
SELECT ${COLUMNS}, clock_timestamp()::timestamptz(3) AS now FROM receipts WHERE tenant_id = $1 AND id = $2`;

type TimedReceipt = ReceiptRow & { readonly now: Date };

/** Reads a receipt, with the database's time. */
export const read = one<TimedReceipt, [tenantId: string, id: string]>(READ);

/** Reads a receipt as `read`, and locks its row until the transaction ends. */
export const lock = one<TimedReceipt, [tenantId: string, id: string]>(`${READ} FOR NO KEY UPDATE`);

/** Lists an agent's receipts, the newest first. */
export const list = paged<ReceiptRow, [tenantId: string, agentId: string]>(`
SELECT ${COLUMNS} FROM receipts WHERE tenant_id = $3 AND agent_id = $4 AND ($1::uuid IS NULL OR id < $1)
ORDER BY id DESC LIMIT $2`);

/** Reads the receivers of an event by the deliveries that are kept. */
export async function receivers(queryable: Queryable, { tenantId, id }: ReceiptName): Promise<Receiver[]> {
  const begin = id.slice(0, 'xxxxxxxx-xxxx-7'.length);
  const bounds = [`${begin}000-0000-000000000000`, `${begin}fff-ffff-ffffffffffff`] as const;
  return (await readReceivers(queryable, tenantId, id, ...bounds)).map(({ completedAt, ...receiver }) => ({
    ...receiver,
    acknowledgedAt: receiver.state === 'acknowledged' ? completedAt : null,
  }));
}

const count = value<number, [tenantId: string, filters: readonly string[], body: string]>(`
SELECT count(DISTINCT f.subscription_id)::int FROM subscription_filters f
WHERE f.tenant_id = $1 AND f.filter = ANY ($2::text[]) AND (NOT f.is_stream OR stream_takes(f.subscription_id, $3))`);

/** Counts the subscriptions that the fan-out of an event with these filters would find. */
export function countReceivers(
  queryable: Queryable,
  tenantId: string,
  { agentId, filters }: { agentId: string; filters: readonly string[] },
): Promise<number> {
  return count(queryable, tenantId, filters, JSON.stringify({ data: { agent_id: agentId } }));
}

export const complete = changed<[id: string]>(
  'UPDATE receipts SET completed_at = now() WHERE id = $1 AND completed_at IS NULL',
);

/** Lists receipts that wait, so that their workflow should be running. */
export const listExpectedWorkflows = listBy(
  `SELECT tenant_id, id AS entity_id FROM receipts WHERE completed_at IS NULL AND id > $1 ORDER BY id LIMIT $2`,
);

/** Deletes complete receipts from before the last so many whole UTC days. @returns how many, at most `limit` */
export const purge = deleteOldest<[days: number]>('receipts', {
  key: ['id'],
  old: `created_at < ${keptFrom('$2')} AND completed_at IS NOT NULL`,
  by: 'created_at',
});

/** Deletes the complete ones of these receipts. */
export const removeCompleted = changed<[ids: readonly string[]]>(
  'DELETE FROM receipts WHERE id = ANY ($1::uuid[]) AND completed_at IS NOT NULL',
);
