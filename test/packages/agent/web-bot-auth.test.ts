// Requests that an agent signs for other people's sites, and its key in the directory, judged by other libraries.
import { createPublicKey, type JsonWebKey, verify } from 'node:crypto';
import { httpbis } from 'http-message-signatures';
import { parseDictionary } from 'structured-headers';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { createAgent } from '../../../packages/agent/src/index.ts';
import { startTenants } from '../../isolation/tenants-server.ts';
import { createRecorder, enrolledAgent, newAgent, newEnrollment, newPem } from './live-agent.ts';

const DAY_MS = 86_400_000;
const DEPOSIT = '/auth/agent/directory-signature';
const SITE = 'https://Shop.example:8443/cart?item=1';

/** What the site has got, and how many signatures the service was handed in. */
const got: Request[] = [];
const isSite = (url: URL) => url.hostname === 'shop.example';
let answerDeposit: () => Response | undefined;
const recorder = createRecorder((url, request) => {
  if (isSite(url)) {
    got.push(request);
    return new Response('sold');
  }
  return url.pathname.endsWith(DEPOSIT) ? answerDeposit() : undefined;
});
const deposits = () => recorder.paths.filter((path) => path === DEPOSIT).length;

const service = await startTenants();
const issuer = service.owner.credentials.issuer_url;
afterAll(() => service.close());
beforeEach(() => {
  got.length = 0;
  recorder.forget();
  answerDeposit = () => undefined;
});

async function directory() {
  const response = await fetch(`${issuer}/.well-known/http-message-signatures-directory`);
  return { response, body: (await response.json()) as { keys: (JsonWebKey & { kid: string })[] } };
}

/** Verifies a request as a site does: by the key of the directory that `Signature-Agent` names. */
async function judge(request: Request): Promise<boolean | null> {
  const { body } = await directory();
  const { method, url } = request;
  return httpbis.verifyMessage(
    {
      keyLookup: async ({ keyid }) => {
        const jwk = body.keys.find(({ kid }) => kid === keyid);
        if (jwk === undefined) return null;
        const key = createPublicKey({ key: jwk, format: 'jwk' });
        return {
          algs: ['ed25519'],
          verify: async (data: Buffer, signature: Buffer) => verify(null, data, key, signature),
        };
      },
      requiredFields: ['@authority', 'signature-agent'],
      requiredParams: ['created', 'expires', 'keyid', 'nonce', 'tag'],
    },
    { method, url, headers: Object.fromEntries(request.headers) },
  );
}

describe('a signed request', () => {
  it('is good for its host alone, by the key that stands in the directory of the tenant', async () => {
    const { agent } = await enrolledAgent(service.owner, { fetch: recorder.fetch });
    const answer = await agent.fetchSigned(SITE, { method: 'POST', headers: { cookie: 'a=b' }, body: '{}' });
    expect(await answer.text()).toBe('sold');
    const [request] = got;
    if (request === undefined) throw new Error('nothing was sent');
    expect(request.headers.get('authorization')).toBeNull();
    expect([request.headers.get('cookie'), await request.clone().text()]).toEqual(['a=b', '{}']);
    expect(request.headers.get('signature-agent')).toBe(`sig1="${issuer}"`);
    const input = parseDictionary(request.headers.get('signature-input') ?? '').get('sig1');
    expect(input?.[0]).toEqual([
      ['@authority', new Map()],
      ['signature-agent', new Map([['key', 'sig1']])],
    ]);
    expect(input?.[1].get('tag')).toBe('web-bot-auth');
    expect(await judge(request)).toBe(true);
    const elsewhere = new Request('https://other.example/', { headers: request.headers });
    await expect(judge(elsewhere)).resolves.toBe(false);
  });

  it('has a nonce that no other has', async () => {
    const { agent } = await enrolledAgent(service.owner, { fetch: recorder.fetch });
    await agent.fetchSigned(SITE);
    await agent.fetchSigned(SITE);
    const nonces = got.map(({ headers }) =>
      parseDictionary(headers.get('signature-input') ?? '')
        .get('sig1')?.[1]
        .get('nonce'),
    );
    expect(new Set(nonces).size).toBe(2);
  });

  it('needs a key of ed25519, and says so', async () => {
    const { agent } = await enrolledAgent(service.owner, { key: newPem('es256'), fetch: recorder.fetch });
    await expect(agent.fetchSigned(SITE)).rejects.toMatchObject({ code: 'invalid_key' });
    expect(got).toEqual([]);
  });
});

describe('the listing of a key', () => {
  it('is handed in once, however many requests are signed, and again a week before it ends', async () => {
    let ahead = 0;
    const { agent } = await enrolledAgent(service.owner, {
      fetch: recorder.fetch,
      now: () => Date.now() + ahead,
    });
    await Promise.all([agent.fetchSigned(SITE), agent.fetchSigned(SITE)]);
    await agent.fetchSigned(SITE);
    expect(deposits()).toBe(1);
    ahead = 22 * DAY_MS;
    await agent.fetchSigned(SITE);
    expect(deposits()).toBe(1);
    // The service's clock is not ahead: the answer is the test's.
    answerDeposit = () => Response.json({});
    ahead = 24 * DAY_MS;
    await agent.fetchSigned(SITE);
    await expect.poll(deposits).toBe(2);
  });

  it('that cannot be renewed in time is used on until it ends', async () => {
    let ahead = 0;
    const { agent } = await enrolledAgent(service.owner, {
      fetch: recorder.fetch,
      now: () => Date.now() + ahead,
    });
    await agent.fetchSigned(SITE);
    answerDeposit = () => Response.json({ error: 'conflict', detail: 'full' }, { status: 409 });
    ahead = 29 * DAY_MS;
    expect((await agent.fetchSigned(SITE)).status).toBe(200);
    await expect.poll(deposits).toBe(2);
    ahead = 31 * DAY_MS;
    await expect(agent.fetchSigned(SITE)).rejects.toMatchObject({ code: 'conflict' });
  });

  it('is that of the new key after a rotation', async () => {
    const id = await newAgent(service.owner);
    const agent = await createAgent({ issuer, key: newPem(), fetch: recorder.fetch });
    await agent.enroll(await newEnrollment(service.owner, id));
    await agent.fetchSigned(SITE);
    await agent.rotateKey();
    await agent.fetchSigned(SITE);
    expect(deposits()).toBe(2);
    await expect.poll(async () => judge(got[1] as Request)).toBe(true);
  });
});
