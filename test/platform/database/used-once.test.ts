// Uses of proofs and assertions against a real table: many in one statement, each good once, and repeats as they are
// allowed.
import { randomBytes, randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import * as proofs from '../../../src/authentication/dpop/dpop.store.ts';
import * as assertions from '../../../src/authentication/tokens/client-assertion.store.ts';
import { MOST_REPEATS } from '../../../src/authentication/tokens/refresh-token.ts';
import type { Queryable } from '../../../src/platform/database/transaction.ts';
import { useTestDatabase } from '../../setup/database.ts';

const test = await useTestDatabase();

const expiresAt = Math.floor(Date.now() / 1000) + 60;
const newProof = () => ({ owner: randomBytes(32), hash: randomBytes(32), expiresAt });
const newAssertion = (request?: Uint8Array) => ({
  owner: randomUUID(),
  hash: randomBytes(32),
  expiresAt,
  request,
});

/** A database that counts its statements. */
function counting() {
  const count = { statements: 0 };
  const query: Queryable['query'] = (text, values) => {
    count.statements += 1;
    return test.database.query(text, values);
  };
  return { count, query };
}

describe('concurrent uses', () => {
  it('share a statement, and of the same proof one is good', async () => {
    const database = counting();
    const use = proofs.openUses(database);
    const [twice, ...others] = Array.from({ length: 40 }, newProof);
    if (twice === undefined) throw new Error('no proof');
    const good = await Promise.all([twice, ...others, twice].map(use));
    expect(good).toEqual([true, ...others.map(() => true), false]);
    expect(database.count.statements).toBe(1);
    expect(await use(twice)).toBe(false);
  });

  it('in several processes have one that is good', async () => {
    const processes = Array.from({ length: 4 }, () => proofs.openUses(test.database));
    const all = Array.from({ length: 30 }, newProof);
    const good = await Promise.all(
      processes.map((use, n) => Promise.all((n % 2 === 0 ? all : all.toReversed()).map(use))),
    );
    expect(good.flat().filter(Boolean).length).toBe(all.length);
  });

  it.each([
    ['of one request are good as often as it may repeat', randomBytes(32), 1 + MOST_REPEATS],
    ['without a request that may repeat are good once', undefined, 1],
  ])('%s, in one batch too', async (_, request, most) => {
    for (const openBatch of [true, false]) {
      const use = assertions.openUses(test.database);
      const one = newAssertion(request);
      const good: boolean[] = [];
      if (openBatch) good.push(...(await Promise.all(Array.from({ length: 7 }, () => use(one)))));
      else for (let n = 0; n < 7; n += 1) good.push(await use(one));
      expect(good).toEqual(Array.from({ length: 7 }, (_, n) => n < most));
    }
  });

  it('of another request with the same assertion are refused', async () => {
    const use = assertions.openUses(test.database);
    const one = newAssertion(randomBytes(32));
    expect(await Promise.all([use(one), use({ ...one, request: randomBytes(32) }), use(one)])).toEqual([
      true,
      false,
      true,
    ]);
  });

  it('whose commit got no answer are refused as unavailable, and not as used before', async () => {
    let isLost = true;
    const use = proofs.openUses({
      query: async (text, values) => {
        const result = await test.database.query(text, values);
        if (!isLost) return result as never;
        throw Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
      },
    });
    const one = newProof();
    await expect(use(one)).rejects.toMatchObject({ code: 'temporarily_unavailable' });
    isLost = false;
    expect(await use(one)).toBe(false);
  });
});
