// DPoP proofs: for each rule a proof that this rule alone refuses; replays, nonces, the store.
import { beforeEach, describe, expect, it } from 'vitest';
import { createGuard } from '../../../packages/resource-server/src/guard.ts';
import {
  PROOF_CHECKS,
  type ProvenRequest,
  verifyProof,
} from '../../../packages/resource-server/src/proof.ts';
import { createProofNonces } from '../../../packages/resource-server/src/proof-nonces.ts';
import { createMemoryReplayStore } from '../../../packages/resource-server/src/replay-store.ts';
import {
  createTestIssuer,
  type TestIssuer,
  type TestKey,
  type TestProof,
} from '../../../packages/resource-server/src/testing.ts';
import { countMapReads } from './map-reads.ts';
import { bearer, outcomeOf, requestWith, TARGET } from './requests.ts';

const NOW = 1_800_000_000;
const URL_OF_REQUEST = 'https://api.test/orders';

let time = NOW * 1000;
let issuer: TestIssuer;
let key: TestKey;
let token: string;
beforeEach(async () => {
  time = NOW * 1000;
  issuer = await createTestIssuer({ now: () => time });
  key = await issuer.createKey();
  token = await issuer.createToken({}, { key });
});

const prove = (proof: Partial<TestProof> = {}, by = key) =>
  by.createProof({ url: URL_OF_REQUEST, token, ...proof });
const withProof = (proof: string | string[], options?: { method?: string; target?: string }) =>
  requestWith({ authorization: `DPoP ${token}`, dpop: proof }, options);

type Forgery = { readonly proof?: Partial<TestProof>; readonly byStranger?: true };

const FORGED: Readonly<Record<string, readonly Forgery[]>> = {
  typ: [{ proof: { header: { typ: 'JWT' } } }],
  htm: [{ proof: { method: 'POST' } }, { proof: { claims: { htm: undefined } } }],
  htu: [
    { proof: { url: 'https://api.test/other' } },
    { proof: { url: 'https://evil.test/orders' } },
    { proof: { claims: { htu: undefined } } },
  ],
  'iat too old': [{ proof: { claims: { iat: NOW - 61 } } }, { proof: { claims: { iat: undefined } } }],
  'iat in the future': [{ proof: { claims: { iat: NOW + 11 } } }],
  ath: [{ proof: { token: 'another' } }, { proof: { claims: { ath: undefined } } }],
  jkt: [{ byStranger: true }],
  jti: [{ proof: { claims: { jti: undefined } } }, { proof: { claims: { jti: 'a'.repeat(257) } } }],
};

describe('the rules of a proof', () => {
  const request = (proof: string): ProvenRequest => ({
    proofs: [proof],
    method: 'GET',
    url: `https://api.test${TARGET}`,
    token,
    jkt: key.jkt,
    now: time,
  });
  const make = async ({ proof, byStranger }: Forgery) =>
    prove(proof, byStranger === true ? await issuer.createKey() : key);
  const use = async (forgery: Forgery, rules = PROOF_CHECKS) =>
    verifyProof(
      request(await make(forgery)),
      { replays: createMemoryReplayStore({ now: () => time }), nonces: undefined },
      rules,
    );

  it('have each a case', () => {
    expect(Object.keys(FORGED)).toEqual(Object.keys(PROOF_CHECKS));
  });

  it.each(
    Object.entries(FORGED).flatMap(([rule, forgeries]) =>
      forgeries.map((forgery) => [rule, forgery] as const),
    ),
  )('refuse by %s what no other refuses: %j', async (rule, forgery) => {
    const { [rule]: _, ...others } = PROOF_CHECKS;
    await expect(use(forgery)).rejects.toMatchObject({ code: 'invalid_dpop_proof' });
    await expect(use(forgery, others)).resolves.toBeUndefined();
  });

  it('admit the edges of the time, and other ways to write the same address', async () => {
    for (const iat of [NOW - 60, NOW + 10]) await use({ proof: { claims: { iat } } });
    for (const url of ['https://API.test:443/orders', 'https://api.test/a/../%6frders?x=1#y'])
      await use({ proof: { url } });
  });

  it('want a public key of a known algorithm', async () => {
    const outcome = async (header: Record<string, unknown>) =>
      verifyProof(request(await prove({ header })), {
        replays: createMemoryReplayStore({ now: () => time }),
        nonces: undefined,
      });
    const jwk = { kty: 'EC', crv: 'P-256', x: 'AA', y: 'AA' };
    for (const header of [
      { jwk: undefined },
      { jwk },
      { jwk: { ...jwk, d: 'AA' } },
      { crit: ['b64'], b64: true },
      { jwk: { kty: 'RSA', n: 'A'.repeat(700), e: 'AQAB' } },
    ])
      await expect(outcome(header)).rejects.toMatchObject({ code: 'invalid_dpop_proof' });
    const unsigned = [{ alg: 'none', typ: 'dpop+jwt' }, {}].map((part) =>
      Buffer.from(JSON.stringify(part)).toString('base64url'),
    );
    for (const text of [`${unsigned.join('.')}.`, 'nonsense', 'a'.repeat(5_000)])
      await expect(
        verifyProof(request(text), { replays: createMemoryReplayStore(), nonces: undefined }),
      ).rejects.toMatchObject({ code: 'invalid_dpop_proof' });
  });
});

describe('a guard', () => {
  it('accepts a bound token with its proof, once', async () => {
    const guard = createGuard(issuer.guardOptions);
    const proof = await prove();
    expect(await outcomeOf(guard, withProof(proof))).toBe('accepted');
    expect(await outcomeOf(guard, withProof(proof))).toBe('401 invalid_dpop_proof');
    const concurrent = withProof(await prove());
    const outcomes = await Promise.all([1, 2, 3].map(() => outcomeOf(guard, concurrent)));
    expect(outcomes.sort()).toEqual(['401 invalid_dpop_proof', '401 invalid_dpop_proof', 'accepted']);
  });

  it('refuses a bound token without its proof, with two, and for another request', async () => {
    const guard = createGuard(issuer.guardOptions);
    expect(await outcomeOf(guard, bearer(token))).toBe('401 invalid_token');
    expect(await outcomeOf(guard, withProof([]))).toBe('401 invalid_dpop_proof');
    expect(await outcomeOf(guard, withProof([await prove(), await prove()]))).toBe('401 invalid_dpop_proof');
    expect(await outcomeOf(guard, withProof(await prove(), { method: 'POST' }))).toBe(
      '401 invalid_dpop_proof',
    );
    expect(await outcomeOf(guard, withProof(await prove(), { target: '/admin' }))).toBe(
      '401 invalid_dpop_proof',
    );
  });

  it('compares htu with its own address, behind a proxy too', async () => {
    const guard = createGuard({ ...issuer.guardOptions, publicUrl: 'https://gateway.test/v2' });
    const url = 'https://gateway.test/v2/orders';
    expect(await outcomeOf(guard, withProof(await prove({ url })))).toBe('accepted');
    expect(await outcomeOf(guard, withProof(await prove()))).toBe('401 invalid_dpop_proof');
  });

  it('accepts no token without a key where each must have one', async () => {
    const guard = createGuard({ ...issuer.guardOptions, dpop: { required: true } });
    expect(await outcomeOf(guard, bearer(await issuer.createToken()))).toBe('401 invalid_token');
    expect(await outcomeOf(guard, withProof(await prove()))).toBe('accepted');
  });

  it('wants its nonce, gives it, and accepts it until it is too old', async () => {
    const nonces = createProofNonces(new Uint8Array(32).fill(7));
    const guard = createGuard({ ...issuer.guardOptions, dpop: { nonces } });
    const ask = async (nonce?: string) => guard.authorize(withProof(await prove({ claims: { nonce } })));
    const first = await ask();
    if (first.agent !== undefined) throw new Error('accepted without a nonce');
    expect([first.answer.status, first.refusal.code]).toEqual([401, 'use_dpop_nonce']);
    const nonce = first.answer.headers['dpop-nonce'] ?? '';
    expect((await ask(nonce)).agent).toBeDefined();
    expect((await ask('invented')).agent).toBeUndefined();
    const others = createProofNonces(new Uint8Array(32).fill(8));
    expect((await ask(await others.issue(time))).agent).toBeUndefined();
    time += 120_000;
    token = await issuer.createToken({}, { key });
    const second = await ask(nonce);
    expect(second.agent).toBeDefined();
    expect('headers' in second && second.headers['dpop-nonce']).toMatch(/^[\w-]{43}$/);
    time += 240_000;
    token = await issuer.createToken({}, { key });
    expect((await ask(nonce)).agent).toBeUndefined();
    expect(() => createProofNonces(new Uint8Array(31))).toThrow(/32 bytes/);
  });

  it('refuses while the store of used proofs fails', async () => {
    const replays = { use: () => Promise.reject(new Error('the store is away')) };
    const guard = createGuard({ ...issuer.guardOptions, dpop: { replays }, onRefused: () => undefined });
    expect(await outcomeOf(guard, withProof(await prove()))).toBe('503 temporarily_unavailable');
  });
});

describe('the store in memory', () => {
  it('forgets proofs that are too old, and never one that could be used again', () => {
    const store = createMemoryReplayStore({ limit: 3, now: () => time });
    expect(store.use('a', NOW + 10)).toBe(true);
    expect(store.use('b', NOW + 70)).toBe(true);
    expect(store.use('c', NOW + 20)).toBe(true);
    expect(() => store.use('d', NOW + 70)).toThrow(/3 proofs/);
    expect(store.use('a', NOW + 10)).toBe(false);
    time += 21_000;
    expect(store.use('d', NOW + 90)).toBe(true);
    expect(store.use('b', NOW + 70)).toBe(false);
    // `c` is older than `b`, which came before it: it goes when there is no room.
    expect(store.use('e', NOW + 90)).toBe(true);
    expect(store.size).toBe(3);
  });

  it('gives half of itself to a key that takes all it can, half of the rest to the next, and refuses no other', () => {
    const store = createMemoryReplayStore({ limit: 400, now: () => time });
    let number = 0;
    const use = (jkt: string) => {
      number += 1;
      return store.use(`proof ${number}`, NOW + 70, jkt);
    };
    for (const [jkt, most] of [
      ['greedy', 200],
      ['busy', 100],
      ['third', 50],
    ] as const) {
      for (let n = 0; n < most; n += 1) expect(use(jkt)).toBe(true);
      expect(() => use(jkt)).toThrow(/by this key/);
    }
    expect(use('calm')).toBe(true);
    for (const jkt of ['greedy', 'busy', 'third']) expect(() => use(jkt)).toThrow(/by this key/);
    time += 71_000;
    for (let n = 0; n < 100; n += 1) expect(store.use(`later ${n}`, NOW + 141, 'greedy')).toBe(true);
    expect(store.size).toBe(100);
  });

  it('does not search all proofs for each one that it refuses', () => {
    const store = createMemoryReplayStore({ limit: 4_000, now: () => time });
    const rememberOne = (n: number) => store.use(`proof ${n}`, NOW + 70, 'greedy');
    for (let n = 0; n < 2_000; n += 1) expect(rememberOne(n)).toBe(true);
    const reads = countMapReads(() => {
      for (let n = 0; n < 100; n += 1) expect(() => rememberOne(2_000 + n)).toThrow(/by this key/);
    });
    expect(reads).toBeLessThan(3 * 2_000);
  });

  it('lets others prove beside a client that sends proofs without end', async () => {
    const replays = createMemoryReplayStore({ limit: 200, now: () => time });
    const guard = createGuard({ ...issuer.guardOptions, dpop: { replays }, onRefused: () => undefined });
    const greedy: string[] = [];
    for (let n = 0; n < 120; n += 1) greedy.push(await outcomeOf(guard, withProof(await prove())));
    expect([greedy.indexOf('503 temporarily_unavailable'), greedy.lastIndexOf('accepted')]).toEqual([
      100, 99,
    ]);
    key = await issuer.createKey();
    token = await issuer.createToken({}, { key });
    expect(await outcomeOf(guard, withProof(await prove()))).toBe('accepted');
  });
});
