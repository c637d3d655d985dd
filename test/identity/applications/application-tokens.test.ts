// What ends the tokens of an application, over HTTP.
import { describe, expect, it } from 'vitest';
import { thumbprintOf } from '../../../src/platform/crypto/jwk.ts';
import { toJwk } from '../../../src/platform/crypto/public-key.ts';
import { basic, insertAgent, provisionTenant, requestTo } from '../../authentication/tokens/accounts.ts';
import { useAccountsServer } from '../../authentication/tokens/accounts-server.ts';
import { derivePublicKey, generatePrivateKey } from '../../platform/crypto/sign.ts';

const { test, server } = await useAccountsServer();

const GRANT = 'grant_type=client_credentials';

const demo = await provisionTenant(server.accounts, 'demo');
const headers = { authorization: demo.authorization };
const token = (await (await server.requestToken(server.origin, GRANT, headers)).json()).access_token;

const send = (method: string, path = '', body?: unknown, bearer = token) =>
  server.send(method, `${server.origin}/api/v1/applications${path}`, bearer, body);
const create = async (changes: object = {}) =>
  (await send('POST', '', { name: 'Client', scopes: ['openid', 'agents:read'], ...changes })).body;

describe('the tokens of an application', () => {
  const newJwk = () => toJwk(derivePublicKey('ed25519', generatePrivateKey('ed25519')));
  const grantTypes = ['client_credentials', 'urn:ietf:params:oauth:grant-type:token-exchange'];

  /** An application with a token that names all that it may. */
  async function prepare() {
    const keys = [newJwk(), newJwk()];
    const scopes = ['openid', 'applications:read'];
    const made = await create({ scopes, grant_types: grantTypes, jwks: { keys } });
    const getToken = async (secret: string = made.client_secret): Promise<string> => {
      const headers = { authorization: basic(made.client_id, secret) };
      return (await (await server.requestToken(server.origin, GRANT, headers)).json()).access_token;
    };
    const agentId = await insertAgent(test.database, demo.tenant.id, scopes);
    return { ...made, path: `/${made.client_id}`, keys, agentId, getToken };
  }
  type Prepared = Awaited<ReturnType<typeof prepare>>;
  const errorOf = async (bearer: string) => (await send('GET', '', undefined, bearer)).body.error;
  const patch = (body: (given: Prepared) => object) => (given: Prepared) =>
    send('PATCH', given.path, body(given));

  it.each<[string, (given: Prepared) => Promise<unknown>]>([
    ['a secret', ({ path, secrets }) => send('DELETE', `${path}/secrets/${secrets[0].id}`)],
    [
      'a secret by a rotation',
      ({ client_id }) => server.accounts.applications.rotateSecret(requestTo(demo.tenant), client_id, 0),
    ],
    ['a client key', patch(({ keys }) => ({ jwks: { keys: keys.slice(1) } }))],
    ['all client keys', patch(() => ({ jwks: null }))],
    ['a scope', patch(() => ({ scopes: ['applications:read'] }))],
    ['a grant', patch(() => ({ grant_types: ['client_credentials'] }))],
    ['the audience', patch(() => ({ audience: 'https://api.example.com' }))],
    ['the owner', patch(({ agentId }) => ({ scopes: ['openid'], agent_id: agentId }))],
  ])('end when it loses %s', async (_name, change) => {
    const given = await prepare();
    const bearer = await given.getToken();
    expect(await errorOf(bearer)).toBe(undefined);
    await change(given);
    expect(await errorOf(bearer)).toBe('token_revoked');
  });

  it('go on when it loses nothing, and are had again after it lost something', async () => {
    const given = await prepare();
    const bearer = await given.getToken();
    const { secret } = await server.accounts.applications.rotateSecret(
      requestTo(demo.tenant),
      given.client_id,
    );
    await send('PATCH', given.path, { name: 'New', scopes: ['openid', 'applications:read', 'email'] });
    await send('PATCH', given.path, { jwks: { keys: [...given.keys, newJwk()] } });
    expect(await errorOf(bearer)).toBe(undefined);
    await send('DELETE', `${given.path}/secrets/${secret.id}`);
    expect(await errorOf(bearer)).toBe('token_revoked');
    expect(await errorOf(await given.getToken())).toBe(undefined);
  });

  it('belong to keys that the log names by their thumbprints', async () => {
    const { client_id, path, keys } = await prepare();
    const added = newJwk();
    const [kept, removed] = keys;
    await send('PATCH', path, { jwks: { keys: [kept, added] } });
    const { rows } = await test.database.query<{ data: object }>(
      "SELECT data FROM audit_log WHERE target_id = $1 AND action LIKE 'application.%' ORDER BY id",
      [client_id],
    );
    expect(rows.map(({ data }) => data)).toEqual([
      expect.objectContaining({ added_keys: keys.map(thumbprintOf) }),
      {
        fields: ['jwks'],
        changes: {},
        added_keys: [thumbprintOf(added)],
        removed_keys: [removed].map((jwk) => thumbprintOf(jwk ?? {})),
      },
    ]);
  });
});
