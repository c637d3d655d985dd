// A master key that is changed: everything is sealed anew, beside traffic, and a key that was left out too early is
// told at the start.
import { randomBytes } from 'node:crypto';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { createProgram } from '../../../src/app/command-line.ts';
import { refuseForeignMasterKey } from '../../../src/app/start-checks.ts';
import { SEALED_COLUMNS } from '../../../src/app/wiring/sealed-columns.ts';
import { SealedSecretService } from '../../../src/operations/master-keys/sealed-secret.service.ts';
import { sealingKeys as readMasterKeys } from '../../../src/platform/config-values.ts';
import type { MasterKey } from '../../../src/platform/crypto/secret-box.node.ts';
import { newId } from '../../../src/platform/database/ids.ts';
import type { Queryable } from '../../../src/platform/database/transaction.ts';
import { SubscriptionSealing } from '../../../src/webhooks/subscriptions/subscription-sealing.service.ts';
import { createAccounts, provisionTenant, requestTo } from '../../authentication/tokens/accounts.ts';
import { createTestDatabase } from '../../setup/database.ts';
import { insertSubscription } from '../../webhooks/intake/fixture.ts';

const OLD = randomBytes(32).toString('base64');
const NEW = randomBytes(32).toString('base64');
const [older, newer] = readMasterKeys.parse(`${OLD},${NEW}`) as [MasterKey, MasterKey];

let test: Awaited<ReturnType<typeof createTestDatabase>>;
beforeEach(async () => {
  await test?.drop();
  test = await createTestDatabase();
});
afterAll(() => test?.drop());

const secretsOf = (masterKeys: MasterKey[], database: Queryable = test.database) =>
  new SealedSecretService({ database, columns: SEALED_COLUMNS, masterKeys });

/**
 * A tenant with a successor of its issuer key, and subscriptions that have secrets and headers, all under the old
 * master key.
 */
async function prepare(subscriptions = 2) {
  const accounts = createAccounts(test.database, { masterKeys: [older] });
  const { tenant } = await provisionTenant(accounts, `t-${newId()}`);
  await accounts.issuerRotation.perform({ tenantId: tenant.id }, 'publish');
  const sealing = new SubscriptionSealing({ masterKeys: [older] });
  const ids: string[] = [];
  for (let count = 0; count < subscriptions; count += 1) {
    const id = await insertSubscription(test.database, requestTo(tenant), { filters: ['*'] });
    await test.database.query(
      `UPDATE subscriptions SET secret_sealed = $2, next_secret_sealed = $3, headers_sealed = $4,
         secret_overlap_ends_at = now() + interval '1 day' WHERE id = $1`,
      [
        id,
        sealing.sealSecret(id, 'now'),
        sealing.sealSecret(id, 'next'),
        sealing.sealHeaders(id, { a: 'b' }),
      ],
    );
    ids.push(id);
  }
  return { tenant, ids };
}

async function readSubscription(id: string, masterKeys: MasterKey[]) {
  const { rows } = await test.database.query<Record<'secret' | 'next' | 'headers', Buffer>>(
    'SELECT secret_sealed AS secret, next_secret_sealed AS next, headers_sealed AS headers FROM subscriptions WHERE id = $1',
    [id],
  );
  const sealing = new SubscriptionSealing({ masterKeys });
  const [row] = rows as [Record<'secret' | 'next' | 'headers', Buffer>];
  return [
    sealing.openSecret(id, row.secret),
    sealing.openSecret(id, row.next),
    sealing.openHeaders(id, row.headers),
  ];
}

it('every column of sealed secrets is known', async () => {
  const { rows } = await test.database.query<{ name: string }>(
    `SELECT table_name || '.' || column_name AS name FROM information_schema.columns
     WHERE table_schema = 'public' AND data_type = 'bytea' AND column_name LIKE '%sealed' ORDER BY 1`,
  );
  expect(SEALED_COLUMNS.map(({ table, column }) => `${table}.${column}`).sort()).toEqual(
    rows.map(({ name }) => name),
  );
});

describe('sealing anew', () => {
  it('lets the old key be left out: the tenant signs, now and after a rotation, and secrets open', async () => {
    const { tenant, ids } = await prepare();
    // Issuer keys: the one that signs and its successor, each with its key for deliveries. Of each subscription: two
    // secrets and its headers.
    expect(await secretsOf([newer, older]).reseal()).toEqual({
      keyId: newer.id,
      resealed: 10,
      refused: 0,
      remaining: [],
    });
    for (const id of ids) expect(await readSubscription(id, [newer])).toEqual(['now', 'next', { a: 'b' }]);
    const { tokens, issuer, issuerKeys } = createAccounts(test.database, { masterKeys: [newer] });
    const grant = { sub: tenant.id, clientId: tenant.id, audience: 'x', scopes: ['openid'] };
    expect((await tokens.issueAccessToken(tenant, grant)).tokenId).toBeDefined();
    await test.database.query("UPDATE issuer_keys SET created_at = created_at - interval '1 hour'");
    await issuerKeys.rotate(requestTo(tenant), { reason: 'the new master key' });
    issuer.forget(tenant.id);
    expect((await tokens.issueAccessToken(tenant, grant)).tokenId).toBeDefined();
    expect(await secretsOf([newer]).listMissingKeys()).toEqual([]);
    expect(await secretsOf([newer]).reseal()).toMatchObject({ resealed: 0, remaining: [] });
  });

  it('leaves what was changed meanwhile, and comes back to what was locked', async () => {
    const { tenant, ids } = await prepare();
    const [changed = '', locked = ''] = ids;
    const theirs = new SubscriptionSealing({ masterKeys: [newer] }).sealSecret(changed, 'theirs');
    let began = false;
    let holding: Promise<unknown> = Promise.resolve();
    const busy: Queryable = {
      query: async (text, values) => {
        if (!began && text.includes('UPDATE subscriptions')) {
          began = true;
          await test.database.query('UPDATE subscriptions SET next_secret_sealed = $2 WHERE id = $1', [
            changed,
            theirs,
          ]);
          await new Promise<void>((isHeld) => {
            holding = test.database.transaction({}, async (unit) => {
              await unit.query('SELECT 1 FROM subscriptions WHERE id = $1 FOR UPDATE', [locked]);
              isHeld();
              await unit.query('SELECT pg_sleep(0.5)');
            });
          });
        }
        return test.database.query(text, values);
      },
    };
    const report = await secretsOf([newer, older], busy).reseal();
    await holding;
    expect(report).toMatchObject({ resealed: 9, remaining: [] });
    expect(await readSubscription(changed, [newer])).toEqual(['now', 'theirs', { a: 'b' }]);
    expect(await readSubscription(locked, [newer])).toEqual(['now', 'next', { a: 'b' }]);
    expect(tenant.id).toBeDefined();
  });

  it('tells what is left: of a key that is not here, and what was moved to another row', async () => {
    const { ids } = await prepare();
    const [from, to] = ids;
    await test.database.query(
      'UPDATE subscriptions SET headers_sealed = (SELECT headers_sealed FROM subscriptions WHERE id = $1) WHERE id = $2',
      [from, to],
    );
    const strange = { id: 'strange', key: randomBytes(32) };
    await test.database.query('UPDATE subscriptions SET next_secret_sealed = $2 WHERE id = $1', [
      to,
      new SubscriptionSealing({ masterKeys: [strange] }).sealSecret(to ?? '', 'x'),
    ]);
    const place = { table: 'subscriptions', secrets: 1 };
    const { remaining, ...report } = await secretsOf([newer, older]).reseal();
    expect(report).toMatchObject({ resealed: 8, refused: 1 });
    expect(remaining).toEqual([
      { ...place, column: 'next_secret_sealed', keyId: 'strange', missing: true },
      { ...place, column: 'headers_sealed', keyId: older.id, missing: false },
    ]);
  });
});

describe('a master key that was left out too early', () => {
  it('keeps a process from starting, which says whose secrets they are; the doctor says so too', async () => {
    const { ids } = await prepare(1);
    await secretsOf([newer, older]).reseal();
    const sealed = new SubscriptionSealing({ masterKeys: [older] }).sealHeaders(ids[0] ?? '', { a: 'c' });
    await test.database.query('UPDATE subscriptions SET headers_sealed = $1', [sealed]);
    const { issuer } = createAccounts(test.database, { masterKeys: [newer] });
    const start = (keys: MasterKey[]) => refuseForeignMasterKey({ issuer, sealedSecrets: secretsOf(keys) });
    await expect(start([newer])).rejects.toThrow(`subscriptions.headers_sealed names ${older.id}`);
    await start([newer, older]);
    expect(await secretsOf([newer]).findMissingKeys()).toMatchObject({
      count: 1,
      named: `subscriptions.headers_sealed: ${older.id}`,
    });
  });
});

/** Runs the command line with these master keys. */
async function run(MASTER_KEY: string, ...words: string[]) {
  const lines: string[] = [];
  let code = 0;
  const env = {
    DATABASE_URL: test.url,
    DATA_DIR: '/none',
    MASTER_KEY,
    PUBLIC_URL: 'http://localhost:8080',
  };
  const fail = (failed: number) => {
    code = failed;
  };
  await createProgram({ env, print: (line) => lines.push(line), fail }).parseAsync([
    'node',
    'countersign',
    ...words,
  ]);
  return { code, text: lines.join('\n') };
}

it('countersign master-key reseal seals everything with the first key, and says when it is done', async () => {
  await prepare();
  const blind = await run(NEW, 'master-key', 'reseal');
  expect(blind).toMatchObject({
    code: 1,
    text: expect.stringContaining('issuer_keys.private_sealed: 2 name'),
  });
  const done = await run(`${NEW},${OLD}`, 'master-key', 'reseal', '--json');
  expect([done.code, JSON.parse(done.text)]).toEqual([
    0,
    { master_key: newer.id, resealed: 10, refused: 0, remaining: [] },
  ]);
  const { rows } = await test.database.query('SELECT action, target_id, data FROM operator_acts');
  expect(rows).toEqual([
    { action: 'master_key.resealed', target_id: newer.id, data: { resealed: 10, refused: 0 } },
  ]);
  const again = await run(NEW, 'master-key', 'reseal');
  expect(again).toMatchObject({
    code: 0,
    text: expect.stringContaining('Nothing names another master key.'),
  });
});

it('countersign master-key status says what is left under another key, and ends with 1 while something is', async () => {
  await prepare();
  const places = [
    ['issuer_keys', 'private_sealed', 2],
    ['issuer_keys', 'delivery_sealed', 2],
    ['subscriptions', 'secret_sealed', 2],
    ['subscriptions', 'next_secret_sealed', 2],
    ['subscriptions', 'headers_sealed', 2],
  ] as const;
  const left = (missing: boolean) =>
    places.map(([table, column, secrets]) => ({ table, column, master_key: older.id, secrets, missing }));
  const before = await run(`${NEW},${OLD}`, 'master-key', 'status', '--json');
  expect(before.code).toBe(1);
  const standing = JSON.parse(before.text) as { remaining: unknown[] };
  expect(standing).toMatchObject({ master_key: newer.id, secrets: 0, may_be_left_out: [] });
  expect(standing.remaining).toHaveLength(places.length);
  expect(standing.remaining).toEqual(expect.arrayContaining(left(false)));
  const told = await run(`${NEW},${OLD}`, 'master-key', 'status');
  expect(told.text).toContain('10 are left under another master key:');
  expect(told.text).toContain(`Run countersign master-key reseal, which seals them with ${newer.id}.`);

  const blind = await run(NEW, 'master-key', 'status');
  expect(blind.code).toBe(1);
  expect(blind.text).toContain(`Put ${older.id} back into MASTER_KEY`);
  expect(blind.text).not.toContain('Run countersign master-key reseal');

  await run(`${NEW},${OLD}`, 'master-key', 'reseal');
  const after = await run(`${NEW},${OLD}`, 'master-key', 'status');
  expect(after).toEqual({
    code: 0,
    text: [
      `The master key ${newer.id} seals new secrets, and has sealed 10.`,
      'Nothing names another master key.',
      `${older.id} may be left out of MASTER_KEY.`,
    ].join('\n'),
  });
  const alone = await run(NEW, 'master-key', 'status', '--json');
  expect([alone.code, JSON.parse(alone.text)]).toEqual([
    0,
    { master_key: newer.id, secrets: 10, remaining: [], may_be_left_out: [] },
  ]);
});
