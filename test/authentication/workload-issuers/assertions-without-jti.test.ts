// Which assertions without a `jti` are the same one: JWT-SVIDs of one second, and copies that were made of one.
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import type { Tenant } from '../../../src/platform/context.ts';
import { createTestAgent, createTestTenant } from '../../identity/agents/agent-rooms.ts';
import { createTestDatabase } from '../../setup/database.ts';
import { requestTo } from '../tokens/accounts.ts';
import { newKey, type ProviderKey } from '../trusted-issuers/identity-provider.ts';
import { createWorkloadRooms } from './workload-rooms.ts';

const SUBJECT = 'spiffe://example.org/shop/buyer';
const AUDIENCE = 'https://id.example';
/** The order of the group of P-256. */
const ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

const test = await createTestDatabase();
const rooms = createWorkloadRooms(test.database);
const [ecdsa, rsa] = [await newKey('ES256'), await newKey('RS256')];
let tenant: Tenant;

afterAll(async () => {
  await rooms.closeWorkloads();
  await test.drop();
});
beforeEach(async () => {
  const context = await createTestTenant(rooms);
  ({ tenant } = context);
  const { agent } = await createTestAgent(rooms, context, { scopes: ['openid'] });
  await rooms.workloadIssuers.create(requestTo(tenant), {
    issuer: 'spiffe://example.org',
    jwks: { keys: [ecdsa.jwk, rsa.jwk].map((jwk) => ({ ...jwk, use: 'jwt-svid' })) as never },
    audiences: [AUDIENCE],
    rules: [{ agentId: agent.id, claims: { sub: SUBJECT } }],
  });
});

/** @param address another one than before makes it another request, and no repeat after a lost answer */
const ask = (assertion: string, address?: string, more: Record<string, string> = {}) => {
  const parameters = { grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion, ...more };
  return rooms.tokenEndpoint
    .requestToken(requestTo(tenant, address), { authorization: undefined, parameters })
    .then(
      () => 'accepted',
      ({ code, message }: Error & { code: string }) => `${code}: ${message}`,
    );
};

/** Two assertions of one second. */
async function makeTwo(key: ProviderKey): Promise<[string, string]> {
  const iat = Math.floor(Date.now() / 1000);
  const claims = { iss: undefined, sub: SUBJECT, aud: AUDIENCE, iat, exp: iat + 300 };
  return [await key.sign(claims), await key.sign(claims)];
}

describe('two assertions without a jti that were made in the same second', () => {
  it('are two when ECDSA signed them, each good once', async () => {
    const [first, second] = await makeTwo(ecdsa);
    expect([await ask(first), await ask(second)]).toEqual(['accepted', 'accepted']);
    for (const text of [first, second])
      expect(await ask(text, '198.51.100.1')).toMatch(/^invalid_grant: .*was used before/);
  });

  it('are one when RSA signed them, and the refusal says what to do', async () => {
    const [first, second] = await makeTwo(rsa);
    expect([second === first, await ask(first)]).toEqual([true, 'accepted']);
    expect(await ask(second, '198.51.100.1')).toMatch(
      /was used before, or .* it has no jti. Ask its issuer .* a second later/,
    );
  });
});

describe('a copy of a used assertion without a jti', () => {
  it('is refused with the other signature that ECDSA has for it, (r, -s)', async () => {
    const [text] = await makeTwo(ecdsa);
    expect(await ask(text)).toBe('accepted');
    const dot = text.lastIndexOf('.');
    const bytes = Buffer.from(text.slice(dot + 1), 'base64url');
    const s = ORDER - BigInt(`0x${bytes.subarray(32).toString('hex')}`);
    const turned = Buffer.concat([
      bytes.subarray(0, 32),
      Buffer.from(s.toString(16).padStart(64, '0'), 'hex'),
    ]);
    expect(await ask(`${text.slice(0, dot)}.${turned.toString('base64url')}`)).toMatch(/was used before/);
  });

  it('is refused with another text of the same signature', async () => {
    const [text] = await makeTwo(ecdsa);
    expect(await ask(text)).toBe('accepted');
    // Four bits of the last character mean nothing.
    const last = ALPHABET.indexOf(text.at(-1) ?? '');
    for (const bits of [1, 5, 15]) {
      const other = text.slice(0, -1) + ALPHABET[last ^ bits];
      expect(await ask(other)).toMatch(/^invalid_grant/);
    }
    for (const padding of ['=', '==']) expect(await ask(text + padding)).not.toBe('accepted');
  });
});

describe('the same request after a lost answer', () => {
  it('gets a token again, three times within 10 s', async () => {
    const [text] = await makeTwo(ecdsa);
    const asked = [await ask(text), ...(await Promise.all([ask(text), ask(text), ask(text)]))];
    expect(asked).toEqual(Array(4).fill('accepted'));
    expect(await ask(text)).toMatch(/was used before/);
    const [late] = await makeTwo(ecdsa);
    await ask(late);
    await test.database.query("UPDATE workload_assertions SET used_at = used_at - interval '10 s'");
    expect(await ask(late)).toMatch(/was used before/);
  });

  it('is another one with another scope', async () => {
    const [text] = await makeTwo(ecdsa);
    expect(await ask(text)).toBe('accepted');
    expect(await ask(text, undefined, { scope: 'openid' })).toMatch(/was used before/);
  });
});
