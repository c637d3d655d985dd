// Addresses go from rows of the audit log, which stay as they were sealed.
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { wireRetention } from '../../src/app/wiring/retention.ts';
import type { RequestContext } from '../../src/platform/context.ts';
import { newId } from '../../src/platform/database/ids.ts';
import { RecordService } from '../../src/webhooks/intake/record.service.ts';
import { useTestDatabase } from '../setup/database.ts';
import { createTestPlatform } from '../setup/platform.ts';
import { pulse } from '../webhooks/accounts/fixture.ts';
import { createTenantContext } from '../webhooks/intake/fixture.ts';
import { createSealing } from './sealing.ts';

const ADDRESS = '203.0.113.77';
const NAME = 'addresses in the audit log';

const test = await useTestDatabase();
const sealing = createSealing(test.database);

/** Inserts rows of so many days ago for both tenants; the first is of the service. */
async function writeOld(days: number, count: number): Promise<void> {
  for (const context of [tenant, neighbour])
    await test.database.query(
      `INSERT INTO audit_log (id, tenant_id, occurred_at, action, outcome, actor_kind, address, client_address, address_salt)
       SELECT (left(uuid_of_time(at)::text, 14) || '7' || right(gen_random_uuid()::text, 21))::uuid, $1, at, 'agent.created', 'success', 'agent',
         audit_address(client, salt), client, salt
       FROM generate_series(1, $3::int) AS n, LATERAL (
         SELECT now() - $2::int * interval '1 day' + n * interval '1 second' AS at, CASE WHEN n = 1 THEN 'local' ELSE $4 END AS client,
           gen_random_uuid() AS salt
       ) AS t`,
      [context.tenant.id, days, count, ADDRESS],
    );
}

const addressesOf = async ({ tenant: { id } }: RequestContext) =>
  (
    await test.database.query<{ id: string; address: string; left: number }>(
      'SELECT id, address, num_nonnulls(client_address, address_salt) AS left FROM audit_log WHERE tenant_id = $1 ORDER BY id',
      [id],
    )
  ).rows;

const shown = async (context: RequestContext) =>
  (await sealing.reading.list(context, { limit: 100 })).data.map(({ address }) => address).reverse();

const retention = wireRetention(createTestPlatform(test.database), {
  records: new RecordService({ notifier: { poke: () => undefined } }),
});
const [tenant, neighbour] = [
  await createTenantContext(test.database),
  await createTenantContext(test.database),
];
await test.database.query('UPDATE tenants SET audit_addresses_days = 3 WHERE id = $1', [tenant.tenant.id]);
// The first seal takes no rows of long ago.
await sealing.write(await createTenantContext(test.database));
await sealing.sealAll();
await writeOld(5, 3);
await writeOld(2, 2);
await sealing.sealAll();

describe('an address', () => {
  it("goes when the tenant's days are over, and the log verifies as before", async () => {
    const [, old] = await addressesOf(tenant);
    const before = await sealing.proofs.proveInclusion(tenant, { id: old?.id ?? '', size: undefined });
    expect(Buffer.from(before.entry).includes(ADDRESS)).toBe(false);
    expect((await sealing.verify()).findings).toEqual([]);

    expect(await retention.purge(NAME, pulse)).toEqual({ count: 2, more: false });
    expect(await retention.purge(NAME, pulse)).toEqual({ count: 0, more: false });

    expect(await shown(tenant)).toEqual(['local', null, null, 'local', ADDRESS]);
    expect(await shown(neighbour)).toEqual(['local', ADDRESS, ADDRESS, 'local', ADDRESS]);
    const after = await sealing.proofs.proveInclusion(tenant, { id: old?.id ?? '', size: undefined });
    expect(after).toEqual({ ...before, addressSalt: null });
    const salt = Buffer.from(String(before.addressSalt).replaceAll('-', ''), 'hex');
    const digest = createHash('sha256').update(salt).update(ADDRESS).digest('hex');
    expect(Buffer.from(after.entry).includes(`sha256:${digest}`)).toBe(true);
    expect((await sealing.verify()).findings).toEqual([]);
  });

  it('leaves nothing in its row from which it can be tried', async () => {
    const rows = await addressesOf(tenant);
    expect(rows.map(({ left }) => left)).toEqual([2, 0, 0, 2, 2]);
    expect(new Set(rows.map(({ address }) => address)).size).toBe(5);
  });

  it('that was replaced by hand shows in the verification', async () => {
    const id = (await addressesOf(neighbour))[1]?.id;
    await test.database.query('ALTER TABLE audit_log DISABLE TRIGGER ALL');
    await test.database.query("UPDATE audit_log SET client_address = '203.0.113.78' WHERE id = $1", [id]);
    const { findings } = await sealing.verify();
    await test.database.query('UPDATE audit_log SET client_address = $2 WHERE id = $1', [id, ADDRESS]);
    await test.database.query('ALTER TABLE audit_log ENABLE TRIGGER ALL');
    expect(findings).toMatchObject([{ kind: 'row_changed', rowId: id }]);
  });
});

describe('a row of the log', () => {
  const refused = { code: '42501' };

  it.each([
    ["address = 'x'"],
    ["client_address = 'x'"],
    ['client_address = NULL'],
    ['address_salt = NULL'],
    ["client_address = NULL, address_salt = NULL, action = 'x'"],
    ['client_address = NULL, address_salt = NULL, address = NULL'],
  ])('refuses the change %s', async (set) => {
    await expect(
      test.database.query(`UPDATE audit_log SET ${set} WHERE tenant_id = $1`, [neighbour.tenant.id]),
    ).rejects.toMatchObject(refused);
  });

  it('keeps the address of the last hours, whatever is asked for', async () => {
    const recent = await createTenantContext(test.database);
    await test.database.query(
      "INSERT INTO audit_log (id, tenant_id, action, outcome, actor_kind, client_address) VALUES ($1, $2, 'x', 'success', 'agent', $3)",
      [newId(), recent.tenant.id, ADDRESS],
    );
    await expect(
      test.database.query(
        "SELECT remove_client_addresses($1, '00000000-0000-0000-0000-000000000000', -1, 10)",
        [recent.tenant.id],
      ),
    ).rejects.toMatchObject(refused);
  });
});
