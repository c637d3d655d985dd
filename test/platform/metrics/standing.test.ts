// What a worker's metrics say of the database: the numbers of rows that are really there.

import { randomUUID } from 'node:crypto';
import { Registry } from 'prom-client';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import * as checkpointStore from '../../../src/audit/checkpoint.store.ts';
import * as schedule from '../../../src/authentication/issuer/key-schedule.store.ts';
import * as anchors from '../../../src/identity/anchors/anchor-check.store.ts';
import * as rotations from '../../../src/identity/keys/rotation.store.ts';
import { newId } from '../../../src/platform/database/ids.ts';
import type { Readings } from '../../../src/platform/metrics/reading.ts';
import * as store from '../../../src/platform/temporal/workflow-command.store.ts';
import { registerBacklogMetrics } from '../../../src/webhooks/backlog/backlog.metrics.ts';
import * as backlog from '../../../src/webhooks/backlog/backlog.store.ts';
import { findOverdue } from '../../../src/webhooks/relay/delivery-inspection.store.ts';
import * as secrets from '../../../src/webhooks/subscriptions/signing-secret.store.ts';
import { useTestDatabase } from '../../setup/database.ts';
import { createTenantContext } from '../../webhooks/intake/fixture.ts';

const { database } = await useTestDatabase();
const tenantId = (await createTenantContext(database)).tenant.id;
beforeEach(async () => {
  await database.query('DELETE FROM outbox');
  await database.query('DELETE FROM endpoints');
  await database.query('DELETE FROM deliveries');
  await database.query('DELETE FROM subscriptions');
});
afterAll(async () => {});

/** A subscription and its endpoint. @param set SQL that changes the endpoint */
async function createEndpoint(set = 'active = true', secrets = ''): Promise<string> {
  const id = newId();
  await database.query(
    `INSERT INTO subscriptions (id, tenant_id, url, host, event_types, filters, sink, secret_sealed)
     VALUES ($1, $2, 'https://a.example/', 'a.example', '{}', '{}', 'standard', '\\x00')`,
    [id, tenantId],
  );
  if (secrets !== '') await database.query(`UPDATE subscriptions SET ${secrets} WHERE id = $1`, [id]);
  await database.query('INSERT INTO endpoints (subscription_id, tenant_id) VALUES ($1, $2)', [id, tenantId]);
  await database.query(`UPDATE endpoints SET ${set} WHERE subscription_id = $1`, [id]);
  return id;
}

async function queue(endpoint: string, kind: string, seconds: number, claimed = false): Promise<void> {
  await database.query(
    `INSERT INTO outbox (id, tenant_id, endpoint, delivery_id, kind, command, rank, created_at, claimed_by)
     VALUES ($1, $2, $3, $4, $5, CASE WHEN $5 = 'command' THEN 'retry' END, CASE WHEN $5 = 'first' THEN 0 ELSE 1 END,
       now() - make_interval(secs => $6), $7)`,
    [newId(), tenantId, endpoint, randomUUID(), kind, seconds, claimed ? randomUUID() : null],
  );
}

/** How many are five minutes late. */
const late = async ({ findOverdue: find }: { findOverdue: typeof findOverdue }) =>
  (await find(database, 300))?.count;

const anyLag = { healthy: expect.any(Number), other: expect.any(Number), command: expect.any(Number) };

describe('the backlog', () => {
  it('is nothing where nothing waits', async () => {
    expect(await backlog.readLag(database)).toEqual({
      healthy: null,
      other: null,
      command: null,
      complete: true,
    });
    expect(await backlog.countRows(database)).toEqual([]);
    expect(await backlog.countEndpoints(database)).toEqual([]);
    expect(await backlog.countRelays(database)).toBe(0);
  });

  it('counts rows by kind, of all holders, and endpoints by state', async () => {
    const open = await createEndpoint();
    await createEndpoint("state = 'down', probe_at = now() + interval '1 hour'");
    await createEndpoint("state = 'held', hold_until = now() + interval '1 hour'");
    await createEndpoint('active = false');
    await createEndpoint('permits = 2, permits_at = now()');
    await createEndpoint("state = 'down', tenant_held_until = 'infinity'");
    await createEndpoint("host_held_until = now() + interval '1 hour'");
    await createEndpoint("host_held_until = now() - interval '1 hour'");
    await createEndpoint('deleted = true');
    await queue(open, 'first', 0);
    await queue(open, 'first', 0, true);
    await queue(open, 'wake', 0);
    const rows = await backlog.countRows(database);
    const endpoints = await backlog.countEndpoints(database);
    const named = (list: readonly { count: number }[], key: string) =>
      Object.fromEntries(list.map((row) => [(row as unknown as Record<string, string>)[key], row.count]));
    expect(named(rows, 'kind')).toEqual({ first: 2, wake: 1 });
    // The paced one has nothing to release.
    expect(named(endpoints, 'state')).toEqual({ open: 3, down: 1, held: 2, suspended: 1, inactive: 1 });
  });

  it('lags by the oldest row that a relay could take, of all ranks, and not by those of closed endpoints or that one holds', async () => {
    const healthy = await createEndpoint();
    await queue(healthy, 'first', 5);
    await queue(healthy, 'wake', 60);
    await queue(healthy, 'first', 900, true);
    await queue(await createEndpoint('active = false'), 'first', 5_000);
    await queue(await createEndpoint('p90_ms = 4000'), 'first', 300);
    await queue(await createEndpoint('rate = 5'), 'first', 200);
    await queue(healthy, 'command', 30);
    const lag = await backlog.readLag(database);
    expect(lag).toEqual({ ...anyLag, complete: true });
    for (const [seconds, found] of [
      [60, lag?.healthy],
      [300, lag?.other],
      [30, lag?.command],
    ] as const) {
      // The system's clock may be set back a little between the two statements.
      expect(found).toBeGreaterThan(seconds - 1);
      expect(found).toBeLessThan(seconds + 60);
    }
  });

  it('is not said to be without lag when there are more endpoints than are looked at', async () => {
    for (let endpoint = 0; endpoint < 2; endpoint += 1)
      await queue(await createEndpoint('p90_ms = 4000'), 'first', 300);
    const registry = new Registry();
    const read = async (name: string) => (name === 'lag' ? backlog.readLag(database, 2) : undefined);
    registerBacklogMetrics({ database, registry }, (() => read) as unknown as Readings);
    const told = async () =>
      (await registry.getSingleMetric('countersign_relay_lag_seconds')?.get())?.values.map(
        ({ labels }) => labels.endpoints,
      );
    expect(await told()).toEqual(['other', 'command']);
    await database.query('DELETE FROM outbox WHERE id = (SELECT id FROM outbox LIMIT 1)');
    expect(await told()).toEqual(['healthy', 'other', 'command']);
  });

  it('has deliveries overdue whose workflow should have begun an attempt', async () => {
    const endpoint = await createEndpoint();
    const insert = (started: number | null, late: number, status = 'retrying') =>
      database.query(
        `INSERT INTO deliveries (id, tenant_id, subscription_id, event_row, event_id, event_type, status, started_generation, next_attempt_at)
         VALUES ($1, $2, $3, $4, 'e', 't', $5, $6, now() - make_interval(secs => $7))`,
        [newId(), tenantId, endpoint, newId(), status, started, late],
      );
    await insert(0, 100);
    await insert(0, 70);
    await insert(0, 50);
    await insert(0, 2);
    await insert(null, 500);
    await insert(0, -60);
    await insert(0, 900, 'delivered');
    expect((await findOverdue(database, 60))?.count).toBe(2);
    expect((await findOverdue(database, 95))?.count).toBe(1);
  });
});

describe('what else waits', () => {
  it('is told by the workflow that is to hear of it', async () => {
    const entity = (workflow: 'agentKeyRotation' | 'endpointRecovery') => ({
      tenantId,
      workflow,
      entityId: randomUUID(),
    });
    await store.insert(database, [
      entity('agentKeyRotation'),
      entity('agentKeyRotation'),
      entity('endpointRecovery'),
    ]);
    const waiting = await store.waiting(database);
    expect(Object.fromEntries(waiting.map(({ workflow, count }) => [workflow, count]))).toEqual({
      agentKeyRotation: 2,
      endpointRecovery: 1,
    });
  });

  it('is overdue five minutes after its time, and not before', async () => {
    const ended = (minutes: number) =>
      `next_secret_sealed = '\\x01', secret_overlap_ends_at = now() - interval '${minutes} minutes'`;
    await createEndpoint('active = true', ended(4));
    expect(await late(secrets)).toBe(0);
    await createEndpoint('active = true', ended(6));
    expect(await late(secrets)).toBe(1);
  });

  it('is a tenant whose issuer key has no successor, or that has keys whose time is over', async () => {
    const overdue = () => late(schedule);
    const insert = (activate: string, { retire = 'NULL', remove = 'NULL', sealed = 'NULL' } = {}) =>
      database.query(
        `INSERT INTO issuer_keys (id, kid, tenant_id, algorithm, public_jwk, private_sealed, activate_at, retire_at, remove_at)
         VALUES ($1::uuid, $1::text, $2, 'ES256', '{}', ${sealed}, now() + interval '${activate}', ${retire}, ${remove})`,
        [newId(), tenantId],
      );
    const ago = (minutes: number) => `now() - interval '${minutes} minutes'`;
    await database.query('DELETE FROM issuer_keys');
    expect(await overdue()).toBe(0);
    await insert('-4 minutes', { sealed: "'\\x01'" });
    expect(await overdue()).toBe(0);
    await database.query("UPDATE issuer_keys SET activate_at = now() - interval '6 minutes'");
    expect(await overdue()).toBe(1);
    await insert('90 days', { sealed: "'\\x01'" });
    expect(await overdue()).toBe(0);
    await insert('-2 days', { retire: ago(1_500), remove: ago(4) });
    expect(await overdue()).toBe(0);
    await insert('-3 days', { retire: ago(1_500), remove: ago(6) });
    expect(await overdue()).toBe(1);
    await database.query('DELETE FROM issuer_keys WHERE remove_at IS NOT NULL');
    await insert('-2 days', { retire: ago(7), remove: "now() + interval '1 day'", sealed: "'\\x01'" });
    expect(await overdue()).toBe(1);
  });

  it('is a rotation without its warning or its end, and an anchor that nobody looks at', async () => {
    const [agent, oldKey, newKey] = [newId(), newId(), newId()];
    await database.query(`INSERT INTO agents (id, tenant_id, name, scopes) VALUES ($1, $2, 'a', '{}')`, [
      agent,
      tenantId,
    ]);
    for (const key of [oldKey, newKey])
      await database.query(
        `INSERT INTO agent_keys (id, tenant_id, agent_id, algorithm, public_key, fingerprint, jwk_thumbprint, state)
         VALUES ($1::uuid, $2, $3, 'ed25519', '\\x00', encode(sha256($1::text::bytea), 'hex'), $1::text, 'active')`,
        [key, tenantId, agent],
      );
    await database.query(
      `INSERT INTO key_rotations (id, tenant_id, agent_id, old_key_id, new_key_id, state, overlap_seconds, deadline_at)
       VALUES ($1, $2, $3, $4, $5, 'waiting_for_switch', 60, now() - interval '4 minutes')`,
      [newId(), tenantId, agent, oldKey, newKey],
    );
    expect(await late(rotations)).toBe(0);
    await database.query("UPDATE key_rotations SET deadline_at = now() - interval '6 minutes'");
    expect(await late(rotations)).toBe(1);
    await database.query('UPDATE key_rotations SET stalled_at = now()');
    expect(await late(rotations)).toBe(0);
    await database.query("UPDATE key_rotations SET state = 'overlapping', switched_at = now()");
    await database.query("UPDATE agent_keys SET sunset_at = now() - interval '6 minutes' WHERE id = $1", [
      oldKey,
    ]);
    expect(await late(rotations)).toBe(1);
    const setKey = (key: string, set: string) =>
      database.query(`UPDATE agent_keys SET ${set} WHERE id = $1`, [key]);
    await setKey(oldKey, "state = 'deprecated'");
    expect(await late(rotations), 'one key, however many reasons').toBe(1);
    await database.query(
      "UPDATE key_rotations SET state = 'canceled', end_reason = 'canceled', ended_at = now()",
    );
    expect(await late(rotations), 'deprecated without a rotation').toBe(1);
    await setKey(newKey, "state = 'deprecated', sunset_at = now() - interval '4 minutes'");
    expect(await late(rotations)).toBe(1);
    await setKey(newKey, "sunset_at = now() - interval '6 minutes'");
    expect(await late(rotations)).toBe(2);
    await setKey(newKey, "state = 'revoked', revoked_at = now()");
    expect(await late(rotations)).toBe(1);
    await database.query('UPDATE agents SET deleted_at = now() WHERE id = $1', [agent]);
    expect(await late(rotations), 'what a deleted agent leaves behind').toBe(0);
    await database.query('UPDATE agents SET deleted_at = NULL WHERE id = $1', [agent]);
    await database.query(
      `INSERT INTO anchors (id, tenant_id, agent_id, type, value, proof, expires_at, next_check_at)
       VALUES ($1, $2, $3, 'domain_dns', 'a.example', 'p', now() + interval '1 day', now() - interval '4 minutes')`,
      [newId(), tenantId, agent],
    );
    expect(await late(anchors)).toBe(0);
    await database.query("UPDATE anchors SET next_check_at = now() - interval '6 minutes'");
    expect(await late(anchors)).toBe(1);
    await database.query("UPDATE anchors SET status = 'failed'");
    expect(await late(anchors)).toBe(0);
  });

  it('is as old as the first row of the audit log behind the last seal', async () => {
    const store = checkpointStore;
    await database.query('ALTER TABLE audit_log DISABLE TRIGGER ALL');
    await database.query('DELETE FROM audit_log');
    expect(await store.findUnsealed(database, 0)).toMatchObject({ count: 0, seconds: 0 });
    for (const age of [90, 30])
      await database.query(
        `INSERT INTO audit_log (id, tenant_id, occurred_at, action, outcome, actor_kind)
         VALUES ($1, $2, now() - make_interval(secs => $3), 'x', 'success', 'service')`,
        [newId(), tenantId, age],
      );
    // The database's clock may be set back between two statements.
    expect((await store.findUnsealed(database, 0))?.seconds).toBeGreaterThan(89);
    expect(await store.findUnsealed(database, 60)).toMatchObject({ count: 1 });
    await database.query('ALTER TABLE audit_log ENABLE TRIGGER ALL');
  });
});
