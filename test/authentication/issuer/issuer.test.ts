// The life of issuer keys against a real database.
import { randomBytes } from 'node:crypto';
import { calculateJwkThumbprint, createLocalJWKSet, jwtVerify } from 'jose';
import { describe, expect, it } from 'vitest';
import { IssuerService } from '../../../src/authentication/issuer/issuer.service.ts';
import type { MasterKey } from '../../../src/platform/crypto/secret-box.node.ts';
import { useTestDatabase } from '../../setup/database.ts';
import { createAccounts, provisionTenant, requestTo } from '../tokens/accounts.ts';

const test = await useTestDatabase();
const accounts = createAccounts(test.database);

const shift = (tenantId: string, seconds: number) =>
  test.database.query(
    'UPDATE issuer_keys SET activate_at = activate_at - make_interval(secs => $2) WHERE tenant_id = $1',
    [tenantId, seconds],
  );
const kidOf = (token: string) =>
  JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString()).kid as string;

/** A service that has read nothing yet, as another process would be. */
const another = (masterKeys: readonly MasterKey[] = [{ id: 'other', key: randomBytes(32) }]) =>
  new IssuerService({
    database: test.database,
    masterKeys,
    revocations: accounts.revocations,
  });

describe('issuer keys', () => {
  it('are made with the tenant, sign immediately, and are named by their RFC 7638 thumbprint', async () => {
    const { tenant } = await provisionTenant(accounts, 'first');
    const { keys } = await accounts.issuer.jwks(tenant);
    expect(keys).toHaveLength(1);
    const [key] = keys;
    expect(key).toMatchObject({ kty: 'EC', crv: 'P-256', alg: 'ES256', use: 'sig' });
    expect(key?.kid).toBe(await calculateJwkThumbprint(key ?? {}));
    expect(Object.keys(key ?? {}).sort()).toEqual(['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y']);
    expect(kidOf(await accounts.issuer.sign(tenant, {}, { typ: 'JWT' }))).toBe(key?.kid);
  });

  it('are sealed at rest: without the master key nobody signs, while everybody verifies', async () => {
    const { tenant } = await provisionTenant(accounts, 'sealed');
    const { rows } = await test.database.query<{ private_sealed: Buffer }>(
      'SELECT private_sealed FROM issuer_keys WHERE tenant_id = $1',
      [tenant.id],
    );
    const stranger = another();
    expect(rows[0]?.private_sealed.includes(Buffer.from('06082a8648ce3d030107', 'hex'))).toBe(false);
    await expect(stranger.sign(tenant, {}, { typ: 'JWT' })).rejects.toThrow('master key');
    const token = await accounts.issuer.sign(tenant, { a: 1 }, { typ: 'JWT' });
    expect(await stranger.verificationKey(tenant, kidOf(token))).toMatchObject({ algorithm: 'ES256' });
  });

  it('open for their own tenant only', async () => {
    const { tenant: one } = await provisionTenant(accounts, 'one');
    const { tenant: two } = await provisionTenant(accounts, 'two');
    await test.database.query('DELETE FROM issuer_keys WHERE tenant_id = $1', [two.id]);
    await test.database.query('UPDATE issuer_keys SET tenant_id = $2 WHERE tenant_id = $1', [one.id, two.id]);
    const masterKey = { id: 'shared', key: randomBytes(32) };
    await expect(another([masterKey]).sign(two, {}, { typ: 'JWT' })).rejects.toThrow();
    expect(await accounts.issuer.verificationKey(two, 'no-such-key')).toBeUndefined();
  });

  it('of a new algorithm are published long before they sign, and both then verify', async () => {
    const { tenant } = await provisionTenant(accounts, 'change');
    const before = await accounts.issuer.sign(tenant, {}, { typ: 'JWT' });
    await accounts.tenants.update(requestTo(tenant), { signingAlgorithm: 'EdDSA' });
    const { keys } = await accounts.issuer.jwks(tenant);
    expect(keys.map((key) => key.alg)).toEqual(['EdDSA', 'ES256']);
    expect(keys[0]).toMatchObject({ kty: 'OKP', crv: 'Ed25519' });
    expect(keys[0]).not.toHaveProperty('y');
    expect(kidOf(await accounts.issuer.sign(tenant, {}, { typ: 'JWT' }))).toBe(kidOf(before));

    await shift(tenant.id, 601);
    await expect
      .poll(async () => kidOf(await accounts.issuer.sign(tenant, {}, { typ: 'JWT' })))
      .toBe(keys[0]?.kid);
    const after = await accounts.issuer.sign(tenant, { a: 1 }, { typ: 'JWT' });
    const set = createLocalJWKSet({ keys });
    expect((await jwtVerify(after, set)).protectedHeader.alg).toBe('EdDSA');
    expect((await jwtVerify(before, set)).protectedHeader.alg).toBe('ES256');
  });

  it('that never signed go away when the tenant changes its mind', async () => {
    const { tenant } = await provisionTenant(accounts, 'mind');
    const context = requestTo(tenant);
    await accounts.tenants.update(context, { signingAlgorithm: 'EdDSA' });
    await accounts.tenants.update(context, { signingAlgorithm: 'EdDSA' });
    expect((await accounts.issuer.jwks(tenant)).keys).toHaveLength(2);
    await accounts.tenants.update(context, { signingAlgorithm: 'ES256' });
    expect((await accounts.issuer.jwks(tenant)).keys.map((key) => key.alg)).toEqual(['ES256']);
  });

  it('go on signing past their time while no other key does, and are not published when removed', async () => {
    const { tenant } = await provisionTenant(accounts, 'retired');
    const set = (column: string) =>
      test.database.query(`UPDATE issuer_keys SET ${column} = now() - interval '1 s' WHERE tenant_id = $1`, [
        tenant.id,
      ]);
    await set('retire_at');
    expect(kidOf(await another(accounts.masterKeys).sign(tenant, {}, { typ: 'JWT' }))).toBeDefined();
    expect((await another().jwks(tenant)).keys).toHaveLength(1);
    await test.database.query('UPDATE issuer_keys SET private_sealed = NULL WHERE tenant_id = $1', [
      tenant.id,
    ]);
    await expect(another().sign(tenant, {}, { typ: 'JWT' })).rejects.toThrow('no issuer key that signs');
    expect((await another().jwks(tenant)).keys).toHaveLength(1);
    await set('remove_at');
    expect((await another().jwks(tenant)).keys).toHaveLength(0);
  });

  it('made a moment ago by another process are found, and unknown ones cost no query each', async () => {
    const { tenant } = await provisionTenant(accounts, 'fresh');
    let reads = 0;
    let clock = 0;
    const service = new IssuerService({
      database: {
        query: (text, values, members) => {
          reads += 1;
          return test.database.query(text, values, members);
        },
      },
      masterKeys: [],
      revocations: accounts.revocations,
      now: () => clock,
    });
    await service.jwks(tenant);
    await Promise.all(Array.from({ length: 50 }, (_, index) => service.verificationKey(tenant, `k${index}`)));
    expect(reads).toBe(1);
    await test.database.query(
      `INSERT INTO issuer_keys (id, kid, tenant_id, algorithm, public_jwk, private_sealed, activate_at)
       SELECT gen_random_uuid(), 'new', tenant_id, algorithm, public_jwk, private_sealed, now() FROM issuer_keys WHERE tenant_id = $1`,
      [tenant.id],
    );
    clock = 499;
    expect(await service.verificationKey(tenant, 'new')).toBeUndefined();
    clock = 500;
    expect(await service.verificationKey(tenant, 'new')).toBeDefined();
    expect(reads).toBe(2);
  });

  it('of tenants that sign meanwhile are read by one statement, and each signs with its own', async () => {
    const names = ['together-1', 'together-2', 'together-3'];
    const made = await Promise.all(names.map((name) => provisionTenant(accounts, name)));
    let reads = 0;
    const service = new IssuerService({
      database: {
        query: (text, values, members) => {
          reads += 1;
          return test.database.query(text, values, members);
        },
      },
      masterKeys: accounts.masterKeys,
      revocations: accounts.revocations,
    });
    const signed = await Promise.all(
      made.map(({ tenant }) => service.sign(tenant, { sub: tenant.id }, { typ: 'JWT' })),
    );
    expect(reads).toBe(1);
    for (const [index, token] of signed.entries()) {
      const tenant = made[index]?.tenant ?? { id: '' };
      const { payload } = await jwtVerify(token, createLocalJWKSet(await accounts.issuer.jwks(tenant)));
      expect(payload.sub).toBe(tenant.id);
    }
  });
});
