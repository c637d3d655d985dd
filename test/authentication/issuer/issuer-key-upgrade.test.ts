// Tenants and issuer keys that are older than the schedule of keys.
import { expect, it } from 'vitest';
import { PUBLISHED_AFTER_SECONDS } from '../../../src/authentication/issuer/key-schedule.ts';
import { loadConfig } from '../../../src/platform/config.ts';
import { newId } from '../../../src/platform/database/ids.ts';
import { takeSteps } from '../../../src/platform/database/migration-steps.ts';
import { issuerKeySchedule } from '../../../src/platform/database/migrations/0021-issuer-keys.ts';
import { useTestDatabase } from '../../setup/database.ts';
import { createAccounts, provisionTenant, requestTo } from '../tokens/accounts.ts';

const test = await useTestDatabase();
const accounts = createAccounts(test.database);

it('go on: what was signed verifies, the last key signs, an older one ends, and each tenant gets its workflow', async () => {
  const { database } = test;
  const { tenant } = await provisionTenant(accounts, `t-${newId()}`);
  const { tenant: other } = await provisionTenant(accounts, `t-${newId()}`);
  const grant = { sub: tenant.id, clientId: tenant.id, audience: tenant.audience, scopes: ['openid'] };
  const { accessToken } = await accounts.tokens.issueAccessToken(tenant, grant);
  await accounts.tenants.update(requestTo(tenant), { signingAlgorithm: 'EdDSA' });
  // As if the change was made a quarter of an hour ago, by a version that wrote no ends.
  await database.query(
    `UPDATE issuer_keys SET activate_at = activate_at - interval '15 min', retire_at = NULL, remove_at = NULL`,
  );
  await database.query('ALTER TABLE issuer_keys DROP COLUMN id, DROP COLUMN revoked_at');
  await database.query('ALTER TABLE issuer_keys ALTER COLUMN private_sealed SET NOT NULL');
  await database.query('DELETE FROM workflow_commands');
  await takeSteps(database.sequelize, 'once-more', issuerKeySchedule);

  const { rows } = await database.query<{ id: string }>(
    `SELECT entity_id AS id FROM workflow_commands WHERE workflow = 'issuerKeyRotation' AND tenant_id = entity_id`,
  );
  expect(rows.map(({ id }) => id).sort()).toEqual([tenant.id, other.id].sort());
  const fresh = createAccounts(database, { masterKeys: accounts.masterKeys });
  const { keys } = await fresh.issuerKeys.read({ tenant });
  expect(keys.map(({ algorithm }) => algorithm)).toEqual(['ES256', 'EdDSA']);
  expect(keys[0]?.retireAt).toEqual(keys[1]?.activateAt);
  expect(keys[0]?.removeAt?.getTime()).toBe(
    Number(keys[1]?.activateAt.getTime()) + PUBLISHED_AFTER_SECONDS * 1000,
  );
  expect(keys[1]).toMatchObject({ retireAt: null, removeAt: null });
  await fresh.tokens.verifyAccessToken(tenant, accessToken);
  const { accessToken: signed } = await fresh.tokens.issueAccessToken(tenant, grant);
  expect(JSON.parse(Buffer.from(signed.split('.')[0] ?? '', 'base64url').toString()).kid).toBe(keys[1]?.kid);
  const name = { tenantId: tenant.id };
  expect((await fresh.issuerRotation.perform(name, 'publish')).next).not.toBeNull();
  expect((await fresh.issuerRotation.perform(name, 'retire')).step.kind).toBe('wait');
  await fresh.tokens.verifyAccessToken(tenant, accessToken);
});

it('no setting lets a token live longer than its key is published', () => {
  const load = (seconds: number) =>
    loadConfig(
      { DATABASE_URL: 'postgres://localhost/x', ACCESS_TOKEN_LIFETIME: String(seconds) },
      { role: 'migrate' },
    );
  expect(load(PUBLISHED_AFTER_SECONDS - 600).accessTokenLifetime).toBe(86_400);
  expect(() => load(PUBLISHED_AFTER_SECONDS - 599)).toThrow('ACCESS_TOKEN_LIFETIME');
});
