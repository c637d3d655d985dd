// A dump in a new cluster: its rows are of transactions that this one has not begun. The doctor finds it, and
// `restore-check` consumes the ids.
import { afterAll, expect, it } from 'vitest';
import { createTransactionIdsCheck } from '../../../src/operations/doctor/rows.check.ts';
import { consumeIds, IDS_AT_ONCE } from '../../../src/operations/restores/restore.store.ts';
import { createWebhookRooms } from '../../webhooks/webhook-rooms.ts';

/** More than other test files use of the cluster while this one runs. */
const GAP = 20_000;

const rooms = await createWebhookRooms();
const webhook = await rooms.subscribe({});
await rooms.publish(webhook, 3);
afterAll(() => rooms.close());

async function examine() {
  const findings: string[] = [];
  const check = createTransactionIdsCheck(rooms.database);
  await check.examine({
    found: async ({ code, subject, detail }) => void findings.push(`${code} ${subject}: ${detail}`),
    looked: () => undefined,
  });
  return findings;
}

it('finds nothing where the rows were written', async () => {
  expect(await examine()).toEqual([]);
});

it('finds each table whose rows are ahead, until the ids that are missing are consumed', async () => {
  const ahead = `(pg_current_xact_id()::text::bigint + ${GAP})::text::xid8`;
  await rooms.database.query(`UPDATE events SET xid = ${ahead}`);
  await rooms.database.query('ALTER TABLE audit_head DISABLE TRIGGER USER');
  await rooms.database.query(`UPDATE audit_head SET last_xid = ${ahead}`);
  const findings = await examine();
  expect(findings).toEqual([
    expect.stringMatching(/^transaction_ids_behind audit_head: .* nothing more of the audit log is sealed/),
    expect.stringMatching(/^transaction_ids_behind events: .* the event feed does not show them/),
  ]);
  const missing = Number(/up to (\d+) transactions/.exec(findings[0] ?? '')?.[1]);
  expect(missing).toBeGreaterThan(0);
  expect(missing).toBeLessThanOrEqual(GAP + 1);
  for (let done = 0; done < missing; done += IDS_AT_ONCE) await consumeIds(rooms.database);
  expect(await examine()).toEqual([]);
});
