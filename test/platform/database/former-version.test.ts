// The version before this one serves while the newest migrations run, and for as long as its processes are replaced. What it says to
// Postgres must do with the new schema what it did before: nothing that it leaves out may be required, nothing that it names may be gone.

import { setTimeout } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { newId } from '../../../src/platform/database/ids.ts';
import { ENTITY_WORKFLOW_TYPES } from '../../../src/platform/temporal/names.ts';
import * as store from '../../../src/platform/temporal/workflow-command.store.ts';
import { useTestDatabase } from '../../setup/database.ts';
import * as former from './former-version.statements.ts';

const { database } = await useTestDatabase();

const [tenant, agent, key, challenge, anchor, delegation, subscription, event, relay] = Array.from(
  { length: 9 },
  newId,
);
const say = async (text: string, values: readonly unknown[]) => {
  const { rows } = await database.query<Record<string, unknown>>(text, values);
  return rows;
};
/** The id of the one delivery. */
const findDelivery = async () => (await say('SELECT id FROM deliveries', []))[0]?.id;

/** Times of commands are whole milliseconds, rounded: what was written this moment may be due in the next. */
const aMoment = () => setTimeout(5);

describe('the version before', () => {
  it('makes tenants, and gives them issuer keys', async () => {
    await say(
      `INSERT INTO tenants (id, slug, name, signing_algorithm, base_url, issuer_url)
       VALUES ($1, 'acme', 'Acme', 'ES256', 'http://acme', 'http://acme')`,
      [tenant],
    );
    for (const kid of ['one', 'two'])
      await say(
        `INSERT INTO issuer_keys (kid, tenant_id, algorithm, public_jwk, private_sealed, activate_at)
         VALUES ($1, $2, $3, $4, $5, now() + make_interval(secs => $6))`,
        [kid, tenant, 'ES256', '{}', Buffer.from('sealed'), -60],
      );
    const keys = await say(
      `SELECT kid, algorithm, public_jwk, private_sealed, activate_at <= now() AND (retire_at IS NULL OR retire_at > now()) AS can_sign
       FROM issuer_keys WHERE tenant_id = $1 AND (remove_at IS NULL OR remove_at > now()) ORDER BY activate_at DESC, kid`,
      [tenant],
    );
    expect(keys.map(({ kid, can_sign }) => [kid, can_sign])).toEqual([
      ['two', true],
      ['one', true],
    ]);
    expect(await say('SELECT DISTINCT id FROM issuer_keys', [])).toHaveLength(2);
  });

  it('makes agents with keys, which use challenges once', async () => {
    await say(`INSERT INTO agents (id, tenant_id, name, scopes) VALUES ($1, $2, 'Robot', '{openid}')`, [
      agent,
      tenant,
    ]);
    await say(
      `INSERT INTO agent_keys (id, tenant_id, agent_id, algorithm, public_key, fingerprint, aliases) VALUES ($1, $2, $3, 'ed25519', '', $4, '{}')`,
      [key, tenant, agent, 'ab'.repeat(32)],
    );
    const values = [[challenge], [tenant], [agent], [key], ['f'], ['ed25519'], ['00'], ['a'], ['openid']];
    expect(await say(former.INSERT_CHALLENGES, [...values, 300, [null]])).toHaveLength(1);
    expect(await say(former.LOAD_CHALLENGES, [[tenant], [challenge]])).toMatchObject([
      { id: challenge, key_id: key, consumed_at: null },
    ]);
    expect(await say(former.CONSUME_CHALLENGES, [[tenant], [challenge]])).toEqual([{ id: challenge }]);
    expect(await say(former.CONSUME_CHALLENGES, [[tenant], [challenge]])).toEqual([]);
  });

  it('makes anchors, one of a kind, and revokes them', async () => {
    const values = [tenant, agent, 'domain_dns', 'acme.example', 'proof', 7];
    expect(await say(former.INSERT_ANCHOR, [anchor, ...values])).toEqual([{ id: anchor }]);
    expect(await say(former.INSERT_ANCHOR, [newId(), ...values])).toEqual([]);
    const list = () => say(former.LIST_ANCHORS, [tenant, agent, null, null, null, 10]);
    expect(await list()).toMatchObject([{ id: anchor, status: 'pending' }]);
    await say(`UPDATE anchors SET status = 'revoked', revoked_at = now() WHERE id = $1`, [anchor]);
    expect(await list()).toMatchObject([{ id: anchor, status: 'revoked' }]);
  });

  it('makes delegations, exchanges tokens under them, and revokes them', async () => {
    const subject = ['https://issuer.example', 'sub'];
    const end = new Date(Date.now() + 3_600_000);
    const values = [delegation, tenant, agent, ...subject, ['openid'], null, end];
    expect(await say(former.INSERT_DELEGATION, values)).toEqual([{ id: delegation }]);
    const asked = [tenant, ...subject, agent, ['openid'], null, []];
    expect(await say(former.FIND_FOR_EXCHANGE, asked)).toMatchObject([{ id: delegation, status: 'active' }]);
    await say(
      `UPDATE delegations SET revoked_at = date_trunc('milliseconds', clock_timestamp()), revoked_reason = $2 WHERE id = $1`,
      [delegation, 'over'],
    );
    expect(await say(former.LIST_DELEGATIONS, [tenant, null, null, null, null, null, 10])).toMatchObject([
      { id: delegation, status: 'revoked' },
    ]);
  });

  it('publishes to subscriptions, and its relay takes the work', async () => {
    await say(
      `INSERT INTO subscriptions (id, tenant_id, url, host, event_types, filters, sink, secret_sealed)
       VALUES ($1, $2, 'https://r.example', 'r.example', '{a.b}', '{a.b}', 'standard', '')`,
      [subscription, tenant],
    );
    await say(
      `INSERT INTO endpoints (subscription_id, tenant_id, active, rate) VALUES ($1, $2, $3, $4) ON CONFLICT (subscription_id) DO NOTHING`,
      [subscription, tenant, true, null],
    );
    const values = [
      [event],
      [tenant],
      ['e1'],
      ['a.b'],
      [new Date()],
      ['{}'],
      ['a.b'],
      [null],
      [null],
      [false],
    ];
    expect(await say(former.PUBLISH, [...values, ['00']])).toMatchObject([{ id: event, deliveries: 1 }]);
    const nobody = '00000000-0000-0000-0000-000000000000';
    const endpoints = await say(former.READY_ENDPOINTS, [nobody, nobody, 10]);
    expect(endpoints).toMatchObject([{ endpoint: subscription, open: true, permits: null, tokens: null }]);
    await say('INSERT INTO relays (instance, epoch) VALUES ($1, 1)', [relay]);
    const claimed = await say(former.CLAIM_WORK, [relay, 1, [tenant], [subscription], [5], true]);
    expect(claimed).toMatchObject([{ kind: 'first', endpoint: subscription, host: 'r.example' }]);
    const ids = claimed.map(({ id }) => id);
    const delivery = await findDelivery();
    await say(former.COMPLETE_WORK, [relay, 1, ids, [true], [0], [delivery]]);
    expect(await say('SELECT started_generation FROM deliveries', [])).toEqual([{ started_generation: 0 }]);
  });

  it('tries deliveries, parks them, and records what came of it', async () => {
    const delivery = await findDelivery();
    expect(await say(former.LOAD_DELIVERIES, [[delivery], [1], [0]])).toMatchObject([
      { status: 'pending', endpoint_open: true, url: 'https://r.example' },
    ]);
    const failure = [delivery, 'retrying', 1, 1, 1_000, false, 503, 'http:503', new Date(), 0];
    await say(former.RECORD_FAILED, failure);
    await say(former.PARK, [delivery, 0, 1, newId()]);
    expect(await say(`SELECT kind FROM outbox WHERE kind = 'wake'`, [])).toHaveLength(1);
    const success = [[delivery], [2], [tenant], [subscription], [0], [false], [new Date()], [5], ['{}']];
    const recorded = await say(former.RECORD_DELIVERED, [...success, [200], [null], [null], [0]]);
    expect(recorded).toEqual([{ delivery_id: delivery, n: 2 }]);
    expect(await say('SELECT status, shown_status FROM delivery_records', [])).toEqual([
      { status: 'delivered', shown_status: 'delivered' },
    ]);
  });

  it('closes and opens lanes', async () => {
    const read = async () => (await say(former.READ_ENDPOINTS, [[subscription]]))[0];
    const values = [subscription, await findDelivery(), null, false, 1, 1, [60_000, 120_000], 'http:503'];
    expect(await say(former.FAIL_ENDPOINT, values)).toEqual([{ state: 'down', closed: true, tell: true }]);
    expect(await read()).toMatchObject({ state: 'down' });
    expect(await say('SELECT endpoint_is_open(l) AS open FROM endpoints l', [])).toEqual([{ open: false }]);
    expect(await say(former.RECOVER_ENDPOINT, [subscription])).toHaveLength(1);
    expect(await read()).toMatchObject({ state: 'open' });
    expect(await say(former.SET_ACTIVE, [subscription, false, null])).toHaveLength(1);
    expect(await say('SELECT endpoint_is_open(l) AS open FROM endpoints l', [])).toEqual([{ open: false }]);
  });
});

describe('commands for workflows', () => {
  /** Those that workers of the version before can start; any other they would start under a wrong id, and never again. */
  const KNOWN = ['agentKeyRotation', 'bulkRecovery', 'endpointRecovery', 'webhookSecretRotation'];

  const typesOf = (rows: readonly { readonly workflow?: unknown }[]) =>
    rows.map(({ workflow }) => workflow).sort();

  it('of types that the version before does not know are taken by new workers only', async () => {
    await database.query('DELETE FROM workflow_commands');
    const entityId = newId();
    const insert = `INSERT INTO workflow_commands (tenant_id, workflow, entity_id)
      SELECT * FROM unnest($1::uuid[], $2::text[], $3::uuid[])`;
    const times = <Value>(value: Value) => ENTITY_WORKFLOW_TYPES.map(() => value);
    await say(insert, [times(tenant), ENTITY_WORKFLOW_TYPES, times(entityId)]);
    await aMoment();
    const claimed = await say(former.CLAIM_COMMANDS, [64, 60_000]);
    expect(typesOf(claimed)).toEqual(KNOWN);
    await say(former.POSTPONE_COMMANDS, [claimed.map(({ id }) => id), 15_000]);

    const taken = await store.claim(database, { limit: 64, lease: 60_000 });
    expect(typesOf(taken)).toEqual([...ENTITY_WORKFLOW_TYPES].sort());
    expect(await store.claim(database, { limit: 64, lease: 60_000 })).toEqual([]);
    const ids = taken.map(({ id }) => id);
    await store.postpone(database, ids, 0);
    await aMoment();
    expect(await store.claim(database, { limit: 64, lease: 60_000 })).toHaveLength(ids.length);
    await store.postpone(database, ids, 0);
    expect(await say(former.CLAIM_COMMANDS, [64, 60_000])).toEqual([]);
    await store.remove(database, ids);
  });

  it('that the version before writes are taken by new workers', async () => {
    await say(
      `INSERT INTO workflow_commands (tenant_id, workflow, entity_id) VALUES ($1, 'agentKeyRotation', $2)`,
      [tenant, key],
    );
    await aMoment();
    expect(typesOf(await store.claim(database, { limit: 64, lease: 60_000 }))).toEqual(['agentKeyRotation']);
  });
});
