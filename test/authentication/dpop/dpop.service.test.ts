// Proofs against a real database: one use for each, in whichever process, for as long as a proof could be accepted.
import { randomBytes } from 'node:crypto';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { DpopService } from '../../../src/authentication/dpop/dpop.service.ts';
import { purge } from '../../../src/authentication/dpop/dpop.store.ts';
import type { Database } from '../../../src/platform/database/database.ts';
import { ServiceError } from '../../../src/platform/errors/service-error.ts';
import { createPatientDatabase, useTestDatabase } from '../../setup/database.ts';
import { BASE_URL, createProver, type Parts } from './proofs.ts';

// The database has a clock of its own, and so the processes stand near the real time, half past a second.
const SECONDS = Math.floor(Date.now() / 1000);
const NOW = SECONDS * 1000 + 500;

const masterKeys = [{ key: randomBytes(32) }];
const context = {
  tenant: {
    id: 't1',
    slug: 'acme',
    name: 'Acme',
    audience: BASE_URL,
    signingAlgorithm: 'ES256',
    baseUrl: BASE_URL,
    issuerUrl: BASE_URL,
  },
} as const;

let clock = NOW;
let prover: Awaited<ReturnType<typeof createProver>>;

const createProcess = (own: Pick<Database, 'query'>) =>
  new DpopService({
    database: own,
    masterKeys,
    now: () => clock,
  });
let here: ReturnType<typeof createProcess>;
let elsewhere: ReturnType<typeof createProcess>;

const { database, url } = await useTestDatabase();
const second = createPatientDatabase({ url, pool: 10, applicationName: 'test-second' });
afterAll(() => second.close());
beforeEach(async () => {
  clock = NOW;
  prover = await createProver('ES256', SECONDS);
  here = createProcess(database);
  elsewhere = createProcess(second);
});

/** A proof with a good nonce, unless its claims have another one. */
const prove = ({ header, claims }: Parts = {}, by = prover) =>
  by.prove({ header, claims: { nonce: here.nonce(context.tenant), ...claims } });
const use = (proof: string) => ({ proofs: [proof], method: 'POST', path: '/oauth/token' });
const outcome = (work: Promise<unknown>) =>
  work.then(
    () => 'passed',
    (error: unknown) => (error instanceof ServiceError ? error.code : error),
  );
const rows = async () =>
  (await database.query<{ count: number }>('SELECT count(*)::int AS count FROM dpop_proofs')).rows[0]?.count;

describe('a proof', () => {
  it('gives its thumbprint and the nonce to send with the answer', async () => {
    const verified = await here.verifyProof(context, use(await prove()));
    expect(verified).toEqual({ jkt: prover.jkt, nonce: here.nonce(context.tenant) });
  });

  it('costs one round trip, and none when it is refused for what it says', async () => {
    let trips = 0;
    const counted = createProcess({
      query: (text, values, members) => {
        trips += 1;
        return database.query(text, values, members);
      },
    });
    await counted.verifyProof(context, use(await prove()));
    expect(trips).toBe(1);
    await outcome(counted.verifyProof(context, use(await prove({ claims: { htm: 'GET' } }))));
    await outcome(counted.verifyProof(context, use(await prover.prove())));
    expect(trips).toBe(1);
  });

  it('is used once: of 100 concurrent uses in two processes exactly one passes', async () => {
    const proof = await prove();
    const uses = Array.from({ length: 100 }, (_, index) =>
      (index % 2 ? here : elsewhere).verifyProof(context, use(proof)),
    );
    const outcomes = await Promise.all(uses.map(outcome));
    expect(outcomes.filter((one) => one === 'passed')).toHaveLength(1);
    expect(outcomes.filter((one) => one === 'invalid_dpop_proof')).toHaveLength(99);
  });

  it('is told by its jti, not by its text', async () => {
    const claims = { jti: 'same' };
    expect(await outcome(here.verifyProof(context, use(await prove({ claims }))))).toBe('passed');
    const again = here.verifyProof(context, use(await prove({ claims: { ...claims, iat: SECONDS - 1 } })));
    await expect(again).rejects.toMatchObject({
      code: 'invalid_dpop_proof',
      detail: expect.stringContaining('used before'),
    });
  });

  it('does not stand in the way of another key with the same jti', async () => {
    const other = await createProver('Ed25519', SECONDS);
    const claims = { jti: 'everybody' };
    expect(await outcome(here.verifyProof(context, use(await prove({ claims }))))).toBe('passed');
    expect(await outcome(here.verifyProof(context, use(await prove({ claims }, other))))).toBe('passed');
  });

  it('that is dated ahead is refused the second time for as long as it would be accepted, whatever is purged', async () => {
    const proof = await prove({ claims: { iat: SECONDS + 10 } });
    expect(await outcome(here.verifyProof(context, use(proof)))).toBe('passed');
    const kept = await database.query<{ end: number }>(
      'SELECT extract(epoch FROM expires_at)::float8 AS end FROM dpop_proofs WHERE jkt = $1',
      [Buffer.from(prover.jkt, 'base64url')],
    );
    // Its last moment is 70 s after its first; the process that judges it then may have a clock 10 s behind.
    expect(kept.rows[0]?.end).toBe(SECONDS + 80);
    for (const later of [1, 59, 61, 69]) {
      clock = NOW + later * 1000;
      await purge(database, 1_000);
      const again = elsewhere.verifyProof(context, use(proof));
      await expect(again, `${later} s later`).rejects.toMatchObject({
        detail: expect.stringContaining('used before'),
      });
    }
    clock = NOW + 70_000;
    await expect(elsewhere.verifyProof(context, use(proof))).rejects.toMatchObject({
      detail: expect.stringContaining('too old'),
    });
  });

  it.each<[string, Parts]>([
    ['another method', { claims: { htm: 'GET' } }],
    ['another address', { claims: { htu: 'https://other.example/oauth/token' } }],
    ['an old one', { claims: { iat: SECONDS - 61 } }],
    ['a foreign nonce', { claims: { nonce: 'foreign' } }],
    ['no nonce', { claims: { nonce: undefined } }],
  ])('that is refused for %s is not used up', async (_what, parts) => {
    const before = await rows();
    const proof = await prove(parts);
    expect(await outcome(here.verifyProof(context, use(proof)))).not.toBe('passed');
    expect(await rows()).toBe(before);
  });

  it('with a bad signature is not used up, and neither refused for a nonce: strangers learn nothing of a proof', async () => {
    const other = await createProver('ES256', SECONDS);
    const forged = await other.prove({ header: { jwk: prover.jwk }, claims: { jti: 'victim' } });
    await expect(here.verifyProof(context, use(forged))).rejects.toMatchObject({
      detail: expect.stringContaining('signature'),
    });
    expect(await outcome(here.verifyProof(context, use(await prove({ claims: { jti: 'victim' } }))))).toBe(
      'passed',
    );
  });

  it('must come alone', async () => {
    const [one, two] = [await prove(), await prove()];
    const none = here.verifyProof(context, { ...use(one), proofs: [] });
    await expect(none).rejects.toMatchObject({ detail: expect.stringContaining('required') });
    const both = here.verifyProof(context, { ...use(one), proofs: [one, two] });
    await expect(both).rejects.toMatchObject({ detail: expect.stringContaining('once') });
    const joined = here.verifyProof(context, use(`${one}, ${two}`));
    await expect(joined).rejects.toMatchObject({ code: 'invalid_dpop_proof' });
  });

  it('lets nobody through while the database is away', async () => {
    const away = createProcess({
      query: () => Promise.reject(new ServiceError('temporarily_unavailable', { retryAfterSeconds: 1 })),
    });
    await expect(away.verifyProof(context, use(await prove()))).rejects.toMatchObject({
      code: 'temporarily_unavailable',
      retryAfterSeconds: 1,
      headers: { 'dpop-nonce': expect.any(String) },
    });
  });
});

describe('a nonce', () => {
  it('is asked for with the one to use, and then accepted, in every process', async () => {
    const refused = await here
      .verifyProof(context, use(await prover.prove()))
      .catch((error: unknown) => error);
    expect(refused).toMatchObject({
      code: 'use_dpop_nonce',
      headers: { 'dpop-nonce': here.nonce(context.tenant) },
    });
    const nonce = (refused as ServiceError).headers['dpop-nonce'];
    const proof = await prove({ claims: { nonce } });
    expect(await outcome(elsewhere.verifyProof(context, use(proof)))).toBe('passed');
  });

  it('of a time gone by is refused', async () => {
    const nonce = here.nonce(context.tenant);
    clock = NOW + 600_000;
    const proof = await prove({ claims: { nonce, iat: SECONDS + 600 } });
    expect(await outcome(here.verifyProof(context, use(proof)))).toBe('use_dpop_nonce');
  });

  it('comes with every refusal', async () => {
    const refused = here.verifyProof(context, use('nonsense'));
    await expect(refused).rejects.toMatchObject({ headers: { 'dpop-nonce': here.nonce(context.tenant) } });
  });
});

describe('used proofs', () => {
  const insert = (count: number, age: string) =>
    database.query(
      `INSERT INTO dpop_proofs SELECT sha256('purge'::bytea), sha256(($2 || n)::bytea), now() - $2::interval FROM generate_series(1, $1::int) AS n`,
      [count, age],
    );

  it('are forgotten once no clock can accept them, by several processes', async () => {
    await database.query('DELETE FROM dpop_proofs');
    await insert(2_500, '6 minutes');
    await insert(3, '4 minutes');
    await insert(4, '-1 minutes');
    const purged = await Promise.all([purge(database, 2_000), purge(database, 2_000)]);
    expect(purged[0] + purged[1]).toBe(2_500);
    expect(await rows()).toBe(7);
  });
});
