// Makes the tenants of a load, with an application each.
import { wireManagement } from '#dist/src/app/wiring/commands.js';
import { loadConfig } from '#dist/src/platform/config.js';
import { publicJwkOf } from './keys.mjs';
import { basic } from './service.mjs';

/** Tenants that are made at a time. */
const TOGETHER = 32;

/**
 * @param env of the service
 * @param options `count` of tenants; `key` of their applications, for `private_key_jwt`, otherwise a secret
 * @returns for each its application: `id`, `authorization`, `issuer`, `privateKey`
 */
export async function createClients(env, { count, key }) {
  const services = wireManagement(loadConfig(env, { role: 'command' }));
  const jwk = key && { ...publicJwkOf(key.publicKey), kid: 'bench', alg: 'ES256', use: 'sig' };
  const jwks = jwk && /** @type {any} */ ({ keys: [jwk] });
  const slugs = Array.from({ length: count }, (_, index) => `bench-${index}`);
  const create = async (slug) => {
    const made = await services.provisioning.provision({ slug, jwks });
    const { client_id: id, client_secret: secret, issuer_url: issuer } = made;
    return { id, authorization: basic(id, secret), issuer, privateKey: key?.privateKey };
  };
  const clients = [];
  while (slugs.length > 0) clients.push(...(await Promise.all(slugs.splice(0, TOGETHER).map(create))));
  await services.close();
  return clients;
}
