// Which entities each room says should have a workflow now, page by page.

import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import * as delegationExpiryStore from '../../../src/authentication/delegations/delegation-expiry.store.ts';
import * as keyScheduleStore from '../../../src/authentication/issuer/key-schedule.store.ts';
import * as anchorCheckStore from '../../../src/identity/anchors/anchor-check.store.ts';
import * as rotationStore from '../../../src/identity/keys/rotation.store.ts';
import type { Queryable } from '../../../src/platform/database/transaction.ts';
import type { ExpectedPage, ExpectedWorkflow } from '../../../src/platform/temporal/expected-workflows.ts';
import * as endpointRecoveryStore from '../../../src/webhooks/endpoints/endpoint-recovery.store.ts';
import * as bulkReplayStore from '../../../src/webhooks/replays/bulk-replay.store.ts';
import * as signingSecretStore from '../../../src/webhooks/subscriptions/signing-secret.store.ts';
import { createDelegationRooms } from '../../authentication/delegations/delegation-rooms.ts';
import { createRooms, createTestAgent, createTestTenant } from '../../identity/agents/agent-rooms.ts';
import { beginRotation } from '../../identity/keys/rotation-case.ts';
import { useTestDatabase } from '../../setup/database.ts';
import { PATIENCE } from '../../setup/patience.ts';
import { insertSubscription } from '../../webhooks/intake/fixture.ts';

const { database } = await useTestDatabase();
const rooms = createRooms(database);
const context = await createTestTenant(rooms);

type List = (queryable: Queryable, page: ExpectedPage) => Promise<ExpectedWorkflow[]>;

/** All of them, one a page. */
async function listAll(list: List): Promise<string[]> {
  const found: string[] = [];
  for (;;) {
    const [one, ...others] = await list(database, { after: found.at(-1), limit: 1 });
    expect(others).toEqual([]);
    if (one === undefined) return found;
    expect(one.tenantId).toBe(context.tenant.id);
    found.push(one.entityId);
  }
}

it('agentKeyRotation: keys that are deprecated or that an open rotation is about', async () => {
  const { keys, rotations, agents } = rooms;
  const [waiting, switched, canceled, deleted] = await Promise.all(
    Array.from({ length: 4 }, () => beginRotation(rooms, context)),
  );
  await switched?.useNew();
  await vi.waitUntil(async () => (await switched?.read())?.state === 'overlapping', PATIENCE);
  await rotations.cancel(context, canceled?.agent.id ?? '', canceled?.rotation.id ?? '');
  await agents.remove(context, deleted?.agent.id ?? '');
  const [deprecated, revoked, ended] = await Promise.all(
    Array.from({ length: 3 }, () => createTestAgent(rooms, context)),
  );
  if (!deprecated || !revoked || !ended) throw new Error('agents are missing');
  for (const { agent, key } of [deprecated, revoked, ended])
    await keys.deprecate(context, agent.id, key.id, { sunsetAfterSeconds: 900 });
  await keys.revoke(context, revoked.agent.id, revoked.key.id);
  // Past its sunset it stays with its deleted agent, and nobody has anything to do about it.
  await database.query("UPDATE agent_keys SET sunset_at = now() - interval '1 second' WHERE id = $1", [
    ended.key.id,
  ]);
  await agents.remove(context, ended.agent.id);
  const expected = [waiting?.oldKey.id, switched?.oldKey.id, deprecated.key.id];
  expect(await listAll(rotationStore.listExpectedWorkflows)).toEqual(expected.sort());
});

it('anchorVerification: anchors that are pending or verified', async () => {
  const { agents, anchors } = rooms;
  const [kept, deleted] = await Promise.all(
    Array.from({ length: 2 }, () => agents.create(context, { name: 'Robot' })),
  );
  if (!kept || !deleted) throw new Error('agents are missing');
  const create = async (agentId: string, value: string) =>
    (await anchors.create(context, agentId, { type: 'domain_dns', value })).id;
  const [pending, verified, overdue, failed, revoked] = await Promise.all(
    ['a', 'b', 'c', 'd', 'e'].map((name) => create(kept.id, `${name}.example`)),
  );
  await create(deleted.id, 'f.example');
  await agents.remove(context, deleted.id);
  await database.query("UPDATE anchors SET status = 'verified', verified_at = now() WHERE id = $1", [
    verified,
  ]);
  await database.query("UPDATE anchors SET expires_at = now() - interval '1 second' WHERE id = $1", [
    overdue,
  ]);
  await database.query("UPDATE anchors SET status = 'failed' WHERE id = $1", [failed]);
  await anchors.revoke(context, kept.id, revoked ?? '');
  // What is overdue is still to be told as failed.
  const expected = [pending, verified, overdue];
  expect(await listAll(anchorCheckStore.listExpectedWorkflows)).toEqual(expected.sort());
});

it('issuerKeyRotation: every tenant', async () => {
  expect(await listAll(keyScheduleStore.listExpectedWorkflows)).toEqual([context.tenant.id]);
});

describe('for subscriptions', () => {
  const ids: string[] = [];
  beforeAll(async () => {
    for (let n = 0; n < 4; n += 1) ids.push(await insertSubscription(database, context, { filters: ['*'] }));
  });
  const [first, second] = [() => ids[0] ?? '', () => ids[1] ?? ''];

  it('webhookSecretRotation: those with a secret that has still to take over', async () => {
    const inOverlap = `UPDATE subscriptions SET next_secret_sealed = '\\x00', secret_overlap_ends_at = now() + $2 * interval '1 minute'`;
    for (const [n, id] of ids.slice(0, 3).entries())
      await database.query(`${inOverlap} WHERE id = $1`, [id, n - 1]);
    await database.query('UPDATE subscriptions SET deleted_at = now() WHERE id = $1', [ids[2]]);
    expect(await listAll(signingSecretStore.listExpectedWorkflows)).toEqual([first(), second()]);
  });

  it('endpointRecovery: those that are watched', async () => {
    await database.query('UPDATE endpoints SET watched = true WHERE subscription_id = ANY ($1)', [
      [first(), second()],
    ]);
    expect(await listAll(endpointRecoveryStore.listExpectedWorkflows)).toEqual([first(), second()]);
  });

  it('bulkReplay: those that have not ended', async () => {
    const made: string[] = [];
    for (const status of ['running', 'completed', 'running', 'canceled']) {
      const id = randomUUID();
      await database.query(
        `INSERT INTO bulk_replays (id, tenant_id, subscription_id, delivery_status, since, until, status, matched)
         VALUES ($1, $2, $3, 'failed', now(), now(), $4, 1)`,
        [id, context.tenant.id, ids[made.length % 3], status],
      );
      if (status === 'running') made.push(id);
    }
    expect(await listAll(bulkReplayStore.listExpectedWorkflows)).toEqual(made.sort());
  });
});

it('delegationExpiry: delegations whose end has neither come nor been written down', async () => {
  const delegated = createDelegationRooms(database);
  const begin = async () => {
    const { agent } = await createTestAgent(rooms, context);
    const { id } = await delegated.delegations.create(context, {
      subject: { issuer: 'https://idp.example', sub: agent.id },
      agentId: agent.id,
      scopes: ['openid'],
      expiresAt: new Date(Date.now() + 3_600_000),
    });
    return { id, agentId: agent.id };
  };
  const [active, overdue, expired, revoked, orphan] = [
    await begin(),
    await begin(),
    await begin(),
    await begin(),
    await begin(),
  ];
  const end = (id: string) =>
    database.query("UPDATE delegations SET expires_at = now() - interval '1 second' WHERE id = $1", [id]);
  for (const { id } of [overdue, expired]) await end(id);
  await delegated.delegationExpiry.expire({ tenantId: context.tenant.id, id: expired.id });
  await delegated.delegations.revoke(context, revoked.id);
  await rooms.agents.remove(context, orphan.agentId);
  expect(await listAll(delegationExpiryStore.listExpectedWorkflows)).toEqual([active.id, overdue.id]);
  await delegated.verifier.close();
});
