// The directory of keys for Web Bot Auth: the npm package web-bot-auth signs and verifies.
import { type JsonWebKey, randomBytes } from 'node:crypto';
import { afterAll, describe, expect, it } from 'vitest';
import { directoryResponseHeaders, signatureHeaders, verify } from 'web-bot-auth';
import { signerFromJWK, verifierFromJWK } from 'web-bot-auth/crypto';
import { encodeBase64Url } from '../../../src/platform/crypto/base64.ts';
import { buildSignatureBase, readSignatures } from '../../../src/platform/crypto/message-signature.ts';
import { parsePublicKey, toJwk } from '../../../src/platform/crypto/public-key.ts';
import { createSignatureVerifier } from '../../../src/platform/crypto/verify-signature.node.ts';
import { createRateLimits } from '../../../src/platform/http/rate-limit.ts';
import { requestTo } from '../../authentication/tokens/accounts.ts';
import { countAlone } from '../../platform/http/counts.ts';
import { startTestServer, tokenFor } from '../../platform/http/test-server.ts';
import { useTestDatabase } from '../../setup/database.ts';
import { createRooms, createTestAgent, readAudit } from '../agents/agent-rooms.ts';

const DIRECTORY = '/.well-known/http-message-signatures-directory';
const admin = {
  authorization: `Bearer ${tokenFor('admin', 'agents:read', 'agents:write', 'agents:capabilities', 'agents:impersonate')}`,
};

const { database } = await useTestDatabase();
const rooms = createRooms(database);
await rooms.tenants.create({ slug: 'demo' });
const rateLimits = createRateLimits({ tenant: 1_000, address: 0 }, countAlone());
const server = await startTestServer(rooms.routes, { database, tenants: rooms.tenants, rateLimits });
afterAll(() => server.drain(0));

async function contextOfDemo() {
  const tenant = await rooms.tenants.bySlug('demo');
  if (tenant === undefined) throw new Error('no tenant');
  const principal = { kind: 'application', subject: 'a', clientId: 'a', tokenId: 'a' } as const;
  return {
    ...requestTo(tenant),
    principal: { ...principal, scopes: ['agents:write', 'agents:capabilities', 'agents:impersonate'] },
  };
}

async function prepare() {
  const context = await contextOfDemo();
  const made = await createTestAgent(rooms, context);
  const jwk: JsonWebKey = { ...toJwk(made.publicKey), d: encodeBase64Url(made.privateKey) };
  return {
    ...made,
    context,
    signer: await signerFromJWK(jwk as never),
    url: context.tenant.baseUrl + DIRECTORY,
  };
}
type Prepared = Awaited<ReturnType<typeof prepare>>;

/** Signs a response of the directory with the package, for a minute or until `expires`. */
async function sign(
  { signer, url }: Pick<Prepared, 'signer' | 'url'>,
  expires = new Date(Date.now() + 60_000),
) {
  const request = new Request(url);
  const message = { request, response: new Response('') };
  const signed = await directoryResponseHeaders(message as never, [signer], { created: new Date(), expires });
  return { signature_input: signed['Signature-Input'], signature: signed.Signature };
}

const deposit = (agentId: string, body: object) =>
  server.send('PUT', `/api/v1/agents/${agentId}/directory-signature`, body, admin);
const read = () => server.send('GET', DIRECTORY);
const kidsOf = ({ body }: Awaited<ReturnType<typeof read>>) =>
  body.keys.map(({ kid }: { kid: string }) => kid);

/** Reads the directory until it has, or has not, a key: a process may show it half a second later. */
const eventually = (kid: string | null, is: boolean) =>
  expect.poll(async () => kidsOf(await read()).includes(kid)).toBe(is);

describe('a key', () => {
  it('stands in the directory with the signature that was handed in, until its agent is suspended', async () => {
    const prepared = await prepare();
    const { agent, key, context } = prepared;
    const signed = await sign(prepared);
    const kept = await deposit(agent.id, signed);
    expect([kept.status, kept.body]).toEqual([200, { key_id: key.id, expires_at: expect.any(String) }]);
    await eventually(key.jwkThumbprint, true);

    const shown = await read();
    expect(shown.headers.get('content-type')).toBe('application/http-message-signatures-directory+json');
    expect(shown.headers.get('cache-control')).toBe('public, max-age=30');
    const jwk = shown.body.keys.find(({ kid }: { kid: string }) => kid === key.jwkThumbprint);
    // The package reads one signature of a message, which is that of the only key.
    const response = new Response(shown.text, { headers: shown.headers });
    const data: string[] = [];
    const check = await verifierFromJWK(jwk);
    await verifyDirectory({ request: new Request(prepared.url), response }, async (text, bytes, params) => {
      data.push(text);
      await check(text, bytes, params as never);
    });
    expect(data[0]).toMatch(/^"@authority";req: localhost:8080\n"@signature-params": /);

    const etag = shown.headers.get('etag') ?? '';
    expect((await server.fetch(DIRECTORY, { headers: { 'if-none-match': etag } })).status).toBe(304);
    const audit = await readAudit(database, context.tenant.id);
    expect(audit.at(-1)).toMatchObject({ action: 'agent.key.listed', key_id: key.id, target_id: key.id });

    await rooms.agents.suspend(context, agent.id);
    await eventually(key.jwkThumbprint, false);
    expect((await read()).headers.get('signature')).toBeNull();
  });

  it('verifies a request that the package has signed with it for another service', async () => {
    const prepared = await prepare();
    await deposit(prepared.agent.id, await sign(prepared));
    await eventually(prepared.key.jwkThumbprint, true);
    const [jwk] = (await read()).body.keys.slice(-1);
    const message = new Request('https://shop.example/articles');
    const params = { created: new Date(), expires: new Date(Date.now() + 60_000) };
    const headers = await signatureHeaders(message, prepared.signer, params);
    const signed = new Request(message, { headers: { ...headers } });
    await verify(signed, await verifierFromJWK(jwk));
    await rooms.keys.revoke(prepared.context, prepared.agent.id, prepared.key.id);
    await eventually(prepared.key.jwkThumbprint, false);
  });

  it.each([
    [
      'of another agent',
      async (p: Prepared) => sign({ ...p, signer: (await prepare()).signer }),
      'signature_input',
    ],
    ['for another host', async (p: Prepared) => sign({ ...p, url: 'https://other.example/' }), 'signature'],
    [
      'that has expired',
      async (p: Prepared) => sign(p, new Date(Date.now() + 500)).then(late),
      'signature_input',
    ],
    [
      'for 31 days',
      async (p: Prepared) => sign(p, new Date(Date.now() + 31 * 86_400_000)),
      'signature_input',
    ],
    [
      'with another tag',
      async (p: Prepared) => replaced(await sign(p), 'http-message-signatures-directory', 'web-bot-auth'),
      'signature_input',
    ],
    [
      'over more',
      async (p: Prepared) => replaced(await sign(p), '("@authority";req', '("@authority";req "date"'),
      'signature_input',
    ],
    [
      'over the host of no request',
      async (p: Prepared) => replaced(await sign(p), '"@authority";req', '"@authority"'),
      'signature_input',
    ],
    [
      'with a nonce that was not signed',
      async (p: Prepared) => replaced(await sign(p), ';tag', ';nonce="x";tag'),
      'signature',
    ],
    [
      'that is too long',
      async (p: Prepared) => replaced(await sign(p), ';tag', `;nonce="${'x'.repeat(300)}";tag`),
      'signature_input',
    ],
    ['that is two', async (p: Prepared) => twice(await sign(p)), 'signature_input'],
    ['that is none', async () => ({ signature_input: 'x', signature: 'y' }), 'signature_input'],
  ])('is not listed by a signature %s', async (_what, change, field) => {
    const prepared = await prepare();
    const refused = await deposit(prepared.agent.id, await change(prepared));
    expect([refused.status, refused.body.errors?.[0].path]).toEqual([400, `body.${field}`]);
    await eventually(prepared.key.jwkThumbprint, false);
  });

  it('is listed by its agent too, and is one of twenty', async () => {
    const { agent, key, context, signer, url } = await prepare();
    const principal = {
      kind: 'agent',
      subject: agent.id,
      agentId: agent.id,
      clientId: 'c',
      tokenId: 't',
      scopes: [],
    };
    const route = rooms.routes.find(({ operationId }) => operationId === 'depositOwnDirectorySignature');
    const own = async (body: object) => route?.handler({ context: { ...context, principal }, body } as never);
    expect(await own(await sign({ signer, url }))).toMatchObject({ status: 200 });
    await eventually(key.jwkThumbprint, true);
    for (let number = 0; number < 19; number++) {
      const other = await prepare();
      await deposit(other.agent.id, await sign(other));
    }
    const full = await prepare();
    const refused = await deposit(full.agent.id, await sign(full));
    expect([refused.status, refused.body.error]).toEqual([409, 'conflict']);
    expect((await deposit(agent.id, await sign({ signer, url }))).status).toBe(200);
    await expect.poll(async () => kidsOf(await read()).length).toBe(20);
    const { headers } = await read();
    const size = [headers.get('signature'), headers.get('signature-input')].join('').length;
    expect(size).toBeLessThan(8_192);
  });
});

/** Published by web-bot-auth (architecture, draft 2): the cases of the key of RFC 9421, B.1.4. */
const VECTORS = [
  {
    signature:
      'sig1=:QKN4fTdIYfh82fvoZCQiQA1weuozfCS/Led2zTMbewMMqH8PI2Wsy/5c4ao6B6D09nraNQdBNOADg8aM1MqfCg==:',
    signatureInput:
      'sig1=("@authority");created=1735689600;keyid="poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U";alg="ed25519";expires=4889289600;nonce="zIW8+cdmA3vdYagbxojpONwa/l0EKJ/O3/wD486VvsQjO/RxPaSt6ZxvQaMcQzNnqKN/mQ6hpGiFro2L2qkz5A==";tag="web-bot-auth"',
  },
  {
    signature:
      'sig2=:RdNFx5Bj6au3YgAMQL/RzmUlZE8QZLIaXGRpw985hWnwPfMxT228NMk6ehRS1PSl4e8PhbNZACSanGdhEwYCCg==:',
    signatureInput:
      'sig2=("@authority" "signature-agent";key="agent2");created=1735689600;keyid="poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U";alg="ed25519";expires=4889289600;nonce="n9p433xm+NJ3ph3upfBIGmsuwHw387YV7Q/F+6BSpGCVjYCqQw6rznNA8PVVLySrAWsv0hQtFioQb6E1YsauiA==";tag="web-bot-auth"',
  },
];

it.each(VECTORS)('the vector $signature of web-bot-auth is verified', async (fields) => {
  const [found] = readSignatures(fields);
  if (found === undefined) throw new Error('no signature');
  const values: Record<string, string> = {
    '@authority': 'example.com',
    'signature-agent': '"https://signature-agent.test"',
  };
  const payload = buildSignatureBase(found.input, (name) => values[name]);
  const { raw: publicKey } = parsePublicKey('ed25519', {
    kty: 'OKP',
    crv: 'Ed25519',
    x: 'JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs',
  });
  const verifier = createSignatureVerifier({ schnorrThreads: 1 });
  const signature = Buffer.from(found.signature).toString('base64');
  expect(await verifier.verifySignature({ algorithm: 'ed25519', publicKey, payload, signature })).toBe(true);
  await verifier.close();
});

type Body = Awaited<ReturnType<typeof sign>>;
const replaced = (body: Body, text: string, other: string) => ({
  ...body,
  signature_input: body.signature_input.replace(text, other),
});
const twice = ({ signature_input, signature }: Body) => ({
  signature_input: `${signature_input}, other=${signature_input.replace(/^[^=]+=/, '')}`,
  signature: `${signature}, other=:${randomBytes(64).toString('base64')}:`,
});
/** The whole second of its end has begun. */
const late = async (body: Body) =>
  replaced(body, /expires=\d+/.exec(body.signature_input)?.[0] ?? '', 'expires=1');

/** What `verify` of http-message-sig does for a pair of request and response. */
async function verifyDirectory(
  { request, response }: { request: Request; response: Response },
  check: (data: string, signature: Uint8Array, params: object) => Promise<void>,
) {
  const { verify: verifyMessage } = await import('http-message-sig');
  await verifyMessage({ request, response } as never, check as never);
}
