// Fills the database of a stack with tenants and subscriptions, whose pattern are the rows of the stack's own tenant.

import { sealingContext } from '../dist/src/authentication/issuer/issuer-key.js';
import { generateIssuerKey } from '../dist/src/authentication/issuer/jws-signing.service.js';
import { loadConfig } from '../dist/src/platform/config.js';
import { sealSecret } from '../dist/src/platform/crypto/secret-box.node.js';

/** Of each tenant. */
const AGENTS = 5;

/**
 * Tenants with an application (whose secret is that of the first tenant), an issuer key, agents with keys, and a
 * subscription.
 * @returns for each its `path` and `clientId`
 */
export async function fillTenants(database, { count, environment }) {
  await database.query(
    `CREATE TEMP TABLE made AS SELECT gen_random_uuid() AS id, 'size-' || n AS slug, gen_random_uuid() AS application
     FROM generate_series(1, ${count}) AS n`,
  );
  await database.query(`
    INSERT INTO tenants (id, slug, name, base_url, issuer_url)
    SELECT m.id, m.slug, m.slug, t.base_url || '/t/' || m.slug, t.issuer_url || '/t/' || m.slug
    FROM made m, tenants t WHERE t.slug = 'bench'`);
  await insertIssuerKeys(database, loadConfig(environment, { role: 'command' }).masterKeys);
  await database.query(`
    INSERT INTO applications SELECT (jsonb_populate_record(a, jsonb_build_object('id', m.application, 'tenant_id', m.id))).*
    FROM made m, applications a JOIN tenants t ON t.id = a.tenant_id WHERE t.slug = 'bench'`);
  await database.query(`
    INSERT INTO application_secrets
    SELECT (jsonb_populate_record(s, jsonb_build_object('id', gen_random_uuid(), 'tenant_id', m.id, 'application_id', m.application))).*
    FROM made m, application_secrets s JOIN tenants t ON t.id = s.tenant_id WHERE t.slug = 'bench'`);
  await database.query(`
    WITH agent AS (
      INSERT INTO agents (id, tenant_id, name, scopes)
      SELECT gen_random_uuid(), m.id, 'agent ' || n, '{openid}' FROM made m, generate_series(1, ${AGENTS}) AS n RETURNING id, tenant_id
    ) INSERT INTO agent_keys (id, tenant_id, agent_id, algorithm, public_key, fingerprint, aliases)
    SELECT gen_random_uuid(), tenant_id, id, 'ed25519', sha256(id::text::bytea), encode(sha256(('k' || id)::bytea), 'hex'),
      ARRAY[encode(sha256(('s' || id)::bytea), 'hex'), encode(sha256(('p' || id)::bytea), 'hex')] FROM agent`);
  await insertSubscriptions(database, `SELECT id AS tenant_id, 1 AS n FROM made`);
  const { rows } = await database.query(
    `SELECT '/t/' || slug AS path, application AS "clientId" FROM made ORDER BY slug`,
  );
  await database.query('DROP TABLE made');
  await analyze(database, [
    'tenants',
    'applications',
    'application_secrets',
    'issuer_keys',
    'agents',
    'agent_keys',
  ]);
  return rows;
}

/** A real key for each: tokens are signed with them. */
async function insertIssuerKeys(database, masterKeys) {
  const { rows } = await database.query('SELECT id FROM made');
  for (let at = 0; at < rows.length; at += 500) {
    const keys = await Promise.all(
      rows.slice(at, at + 500).map(async ({ id }) => {
        const { publicJwk, pkcs8 } = await generateIssuerKey('ES256');
        const sealed = sealSecret(masterKeys, sealingContext(id, publicJwk.kid), pkcs8);
        return {
          tenant_id: id,
          kid: publicJwk.kid,
          public_jwk: publicJwk,
          private_sealed: `\\x${sealed.toString('hex')}`,
        };
      }),
    );
    await database.query(
      `INSERT INTO issuer_keys
       SELECT (jsonb_populate_record(pattern, key || jsonb_build_object('id', gen_random_uuid()))).*
       FROM jsonb_array_elements($1::jsonb) AS list (key), issuer_keys pattern
       WHERE pattern.kid = (SELECT k.kid FROM issuer_keys k JOIN tenants t ON t.id = k.tenant_id WHERE t.slug = 'bench' ORDER BY activate_at LIMIT 1)`,
      [JSON.stringify(keys)],
    );
  }
}

/** Subscriptions of the first tenant, each to a type of its own that nobody publishes. */
export async function fillSubscriptions(database, { tenantId, count }) {
  await insertSubscriptions(
    database,
    `SELECT '${tenantId}'::uuid AS tenant_id, n FROM generate_series(1, ${count}) AS n`,
  );
}

async function insertSubscriptions(database, owners) {
  await database.query(`
    WITH made AS (
      INSERT INTO subscriptions
      SELECT (jsonb_populate_record(p, jsonb_build_object('id', gen_random_uuid(), 'tenant_id', o.tenant_id,
        'event_types', jsonb_build_array('size.thing' || o.n || '.happened'), 'filters', jsonb_build_array('size.thing' || o.n || '.happened')))).*
      FROM subscriptions p, (${owners}) AS o WHERE p.id = (SELECT id FROM subscriptions LIMIT 1) RETURNING id, tenant_id
    ) INSERT INTO endpoints (subscription_id, tenant_id) SELECT id, tenant_id FROM made`);
  await analyze(database, ['subscriptions', 'subscription_filters', 'endpoints']);
}

/** What autovacuum does in time. */
async function analyze(database, tables) {
  for (const table of tables) await database.query(`VACUUM ANALYZE ${table}`);
}
