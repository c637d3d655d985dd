// SQL of receipts. The state of a receiver is that of its delivery's row, so no attempt writes anything for a receipt.
import { columnsOf } from '../../platform/columns.ts';
import { deleteOldest } from '../../platform/database/deletion.ts';
import { keptFrom } from '../../platform/database/kept-days.ts';
import { type Page, type PageRequest, toPage } from '../../platform/database/page.ts';
import type { Queryable } from '../../platform/database/transaction.ts';
import { listBy } from '../../platform/temporal/expected-workflows.ts';
import type { ReceiptRow, Receiver } from './receipt.ts';

export type ReceiptName = { readonly tenantId: string; readonly id: string };

const COLUMNS = `id, tenant_id AS "tenantId", agent_id AS "agentId", cause, receivers, created_at AS "createdAt",
  completed_at AS "completedAt"`;

// A delivery's id begins like its event's. The bounds let the statement open only the partition of that time.
const RECEIVERS = `
SELECT d.subscription_id AS "subscriptionId", d.id AS "deliveryId", CASE WHEN s.stream_audience IS NULL THEN 'webhook' ELSE 'stream' END AS kind,
  s.host, d.completed_at AS "completedAt", d.attempt_count AS attempts, d.last_error AS "lastError",
  CASE d.shown_status WHEN 'delivered' THEN 'acknowledged' WHEN 'failed' THEN 'failed' WHEN 'canceled' THEN 'canceled'
    ELSE CASE WHEN endpoint_is_open(p) AND p.state <> 'down' OR s.url = 'urn:ietf:rfc:8936' THEN 'waiting' ELSE 'held' END END AS state
FROM delivery_records d JOIN subscriptions s ON s.id = d.subscription_id JOIN endpoints p ON p.subscription_id = d.subscription_id
WHERE d.event_row = $2 AND d.tenant_id = $1 AND d.id BETWEEN $3 AND $4
ORDER BY d.id`;

type NewReceipt = Pick<ReceiptRow, 'id' | 'agentId' | 'cause' | 'receivers'>;

const NEW = columnsOf<NewReceipt>({ uuid: ['id', 'agentId'], text: ['cause'], int: ['receivers'] });

const OPEN = `
INSERT INTO receipts (id, tenant_id, agent_id, cause, receivers, completed_at)
SELECT id, $1, agent_id, cause, receivers, CASE WHEN receivers = 0 THEN now() END
FROM ${NEW.from('r', 2)}
ON CONFLICT DO NOTHING`;

/** Inserts receipts; one without receivers is complete. */
export async function open(
  unit: Queryable,
  tenantId: string,
  receipts: readonly NewReceipt[],
): Promise<void> {
  await unit.query(OPEN, [tenantId, ...NEW.of(receipts)]);
}

/** Reads a receipt, with the database's time. @param lock locks its row until the transaction ends */
export async function read(
  queryable: Queryable,
  { tenantId, id }: ReceiptName,
  { lock = false }: { lock?: boolean } = {},
): Promise<(ReceiptRow & { readonly now: Date }) | undefined> {
  const { rows } = await queryable.query<ReceiptRow & { now: Date }>(
    `SELECT ${COLUMNS}, clock_timestamp()::timestamptz(3) AS now FROM receipts WHERE tenant_id = $1 AND id = $2
     ${lock ? 'FOR NO KEY UPDATE' : ''}`,
    [tenantId, id],
  );
  return rows[0];
}

/** Lists an agent's receipts, the newest first. */
export async function list(
  queryable: Queryable,
  { tenantId, agentId }: { tenantId: string; agentId: string },
  { limit, cursor }: PageRequest,
): Promise<Page<ReceiptRow>> {
  const { rows } = await queryable.query<ReceiptRow>(
    `SELECT ${COLUMNS} FROM receipts WHERE tenant_id = $1 AND agent_id = $2 AND ($3::uuid IS NULL OR id < $3)
     ORDER BY id DESC LIMIT $4`,
    [tenantId, agentId, cursor ?? null, limit + 1],
  );
  return toPage(rows, limit);
}

/** Reads the receivers of an event by the deliveries that are kept. */
export async function receivers(queryable: Queryable, { tenantId, id }: ReceiptName): Promise<Receiver[]> {
  const begin = id.slice(0, 'xxxxxxxx-xxxx-7'.length);
  const { rows } = await queryable.query<
    Omit<Receiver, 'acknowledgedAt'> & { readonly completedAt: Date | null }
  >(RECEIVERS, [tenantId, id, `${begin}000-0000-000000000000`, `${begin}fff-ffff-ffffffffffff`]);
  return rows.map(({ completedAt, ...receiver }) => ({
    ...receiver,
    acknowledgedAt: receiver.state === 'acknowledged' ? completedAt : null,
  }));
}

const COUNT = `
SELECT count(DISTINCT f.subscription_id)::int AS receivers FROM subscription_filters f
WHERE f.tenant_id = $1 AND f.filter = ANY ($2::text[]) AND (NOT f.is_stream OR stream_takes(f.subscription_id, $3))`;

/** Counts the subscriptions that the fan-out of an event with these filters would find. */
export async function countReceivers(
  queryable: Queryable,
  tenantId: string,
  { agentId, filters }: { agentId: string; filters: readonly string[] },
): Promise<number> {
  const body = JSON.stringify({ data: { agent_id: agentId } });
  const { rows } = await queryable.query<{ receivers: number }>(COUNT, [tenantId, filters, body]);
  return rows[0]?.receivers ?? 0;
}

export async function complete(unit: Queryable, id: string): Promise<void> {
  await unit.query('UPDATE receipts SET completed_at = now() WHERE id = $1 AND completed_at IS NULL', [id]);
}

/** Lists receipts that wait, so that their workflow should be running. */
export const listExpectedWorkflows = listBy(
  `SELECT tenant_id AS "tenantId", id AS "entityId" FROM receipts WHERE completed_at IS NULL AND id > $1 ORDER BY id LIMIT $2`,
);

/** Deletes complete receipts from before the last so many whole UTC days. @returns how many, at most `limit` */
export const purge = deleteOldest<[days: number]>('receipts', {
  key: ['id'],
  old: `created_at < ${keptFrom('$2')} AND completed_at IS NOT NULL`,
  by: 'created_at',
});

/** Deletes the complete ones of these receipts. */
export async function removeCompleted(unit: Queryable, ids: readonly string[]): Promise<void> {
  await unit.query('DELETE FROM receipts WHERE id = ANY ($1::uuid[]) AND completed_at IS NOT NULL', [ids]);
}
