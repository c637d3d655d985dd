// Revocation in every process within a second: by polling alone, and what holds while polling fails.

import { afterAll, afterEach, describe, expect, it, vi } from 'vitest';
import { RevocationService } from '../../../src/authentication/tokens/revocation.service.ts';
import * as store from '../../../src/authentication/tokens/revocation.store.ts';
import { createRevocationBook } from '../../../src/authentication/tokens/revocation.ts';
import { AGENT_CLIENT_ID } from '../../../src/identity/agents/agent.ts';
import type { Database } from '../../../src/platform/database/database.ts';
import { createDatabaseClock } from '../../../src/platform/database/database-clock.ts';
import type { Transaction } from '../../../src/platform/database/transaction.ts';
import { ServiceError } from '../../../src/platform/errors/service-error.ts';
import type { Rooms } from '../../identity/agents/agent-rooms.ts';
import { letClockMove, PATIENCE } from '../../setup/patience.ts';
import {
  claimsOf,
  codeOf,
  createHolder,
  createTwoProcesses,
  issueFirst,
  lastAccepted,
} from './refresh-fixture.ts';

const closing: (() => Promise<unknown>)[] = [];

const processes = await createTwoProcesses();
const { one, two } = processes;
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});
afterAll(() => processes.drop());

const check = (rooms: Rooms, { tenant }: Parameters<Rooms['agents']['get']>[0], token: string) =>
  codeOf(rooms.tokens.verifyAccessToken(tenant, token));

const endToken = (unit: Transaction, { context, agent, tokenId }: Awaited<ReturnType<typeof createHolder>>) =>
  one.revocations.endTokens(unit, context.tenant.id, { client_id: AGENT_CLIENT_ID, sub: agent.id }, [
    { id: tokenId },
  ]);

/** Waits until the feeds have begun so many readings. */
async function readings(count: number): Promise<void> {
  const read = vi.spyOn(store, 'readPage');
  await vi.waitUntil(() => read.mock.calls.length >= count, PATIENCE);
  read.mockRestore();
}

describe('with a feed that polls and nothing else, in the second process', () => {
  it.each<[string, (holder: Awaited<ReturnType<typeof createHolder>>) => Promise<unknown>]>([
    ['a suspension', ({ context, agent }) => one.agents.suspend(context, agent.id)],
    ['a deletion', ({ context, agent }) => one.agents.remove(context, agent.id)],
    ['the revocation of a key', ({ context, agent, key }) => one.keys.revoke(context, agent.id, key.id)],
  ])('%s is known within a second, and asked for without a query', async (_name, end) => {
    const holder = await createHolder(one);
    two.revocations.start();
    closing.push(() => two.revocations.close());
    await readings(1);
    expect(await check(two, holder.context, holder.accessToken)).toBe('accepted');
    await end(holder);
    expect(await check(one, holder.context, holder.accessToken)).toBe('token_revoked');
    expect(await lastAccepted(() => check(two, holder.context, holder.accessToken))).toBeLessThan(1_000);
  });

  it('what is committed long after it was written is not missed', async () => {
    const holder = await createHolder(one);
    two.revocations.start();
    closing.push(() => two.revocations.close());
    await processes.database.transaction({}, async (unit) => {
      await endToken(unit, holder);
      await readings(10);
    });
    expect(await lastAccepted(() => check(two, holder.context, holder.accessToken))).toBeLessThan(1_000);
  });
});

describe('a feed', () => {
  it('whose readings fail asks the database at each check, and nobody accepts a token without it', async () => {
    const holder = await createHolder(one);
    const claims = claimsOf(holder.accessToken) as never;
    let [isDeaf, isAway, ahead] = [false, false, 0];
    const behind: Pick<Database, 'query'> = {
      query: (...asked) =>
        isAway
          ? Promise.reject(new ServiceError('temporarily_unavailable'))
          : processes.database.query(...asked),
    };

    const deaf: typeof store = {
      ...store,
      readPage: (...given) => (isDeaf ? Promise.reject(new Error('deaf')) : store.readPage(...given)),
    };
    const failures: unknown[] = [];
    const feed = new RevocationService({
      store: deaf,
      database: behind,
      onError: (error) => failures.push(error),
      clock: createDatabaseClock({ monotonic: () => performance.now() + ahead }),
    });
    feed.start();
    closing.push(() => feed.close());
    expect(await codeOf(feed.check(claims))).toBe('accepted');
    isDeaf = true;
    await vi.waitUntil(() => failures.length > 0, PATIENCE);
    // What was read last is older than a memory may be.
    ahead = 1_000;
    expect(await codeOf(feed.check(claims))).toBe('accepted');
    await processes.database.transaction({}, (unit) => endToken(unit, holder));
    expect(await codeOf(feed.check(claims))).toBe('token_revoked');
    isAway = true;
    expect(await codeOf(feed.check(claims))).toBe('temporarily_unavailable');
  });

  it('listens only to be sooner: a notice makes it read immediately', async () => {
    const holder = await createHolder(one);
    const claims = claimsOf(holder.accessToken) as never;
    let notice: () => void = () => undefined;

    const read = vi.spyOn(store, 'readPage');
    const feed = new RevocationService({
      store,
      database: processes.database,
      listen: (onNotice) => {
        notice = onNotice;
        return undefined;
      },
    });
    feed.start();
    closing.push(() => feed.close());
    await processes.database.transaction({}, (unit) => endToken(unit, holder));
    // Between two readings: while one is under way, a notice makes it read again after it.
    await vi.waitFor(() => {
      const before = read.mock.calls.length;
      expect(read.mock.settledResults).toHaveLength(before);
      notice();
      expect(read).toHaveBeenCalledTimes(before + 1);
    }, PATIENCE);
    await vi.waitUntil(() => feed.isRevoked(claims), PATIENCE);
  });

  it('forgets nothing of a transaction that was rolled back, because it never knew it', async () => {
    const holder = await createHolder(one);
    const rolledBack = processes.database.transaction({}, async (unit) => {
      await endToken(unit, holder);
      throw new Error('no');
    });
    await expect(rolledBack).rejects.toThrow('no');
    expect(await check(one, holder.context, holder.accessToken)).toBe('accepted');
  });
});

describe('after a reactivation', () => {
  it('new tokens are accepted, and those from before stay ended', async () => {
    const { context, agent, key, accessToken } = await createHolder(one);
    await one.agents.suspend(context, agent.id);
    const between = await issueFirst(one, context, { agentId: agent.id, keyId: key.id });
    await one.agents.reactivate(context, agent.id);
    await letClockMove();
    const after = await issueFirst(one, context, { agentId: agent.id, keyId: key.id });
    expect(await check(one, context, accessToken)).toBe('token_revoked');
    expect(await check(one, context, between.accessToken)).toBe('token_revoked');
    expect(await check(one, context, after.accessToken)).toBe('accepted');
  });
});

describe('the memory of decisions', () => {
  const decision = {
    id: 1,
    tenantId: 'tenant',
    tokenId: null,
    principal: null,
    notBefore: Infinity,
    expiresAt: 100,
  };
  const claims = { jti: 'not-a-uuid', sub: 'agent', client_id: 'app', tenant_id: 'tenant', iat: 10 };

  it('takes them in any order: the latest of a principal counts', () => {
    const book = createRevocationBook();
    book.add([{ ...decision, id: 2, principal: 'agent', notBefore: 9_000 }]);
    book.add([{ ...decision, id: 1, principal: 'agent' }]);
    expect(book.isRevoked(claims)).toBe(false);
    book.add([{ ...decision, id: 3, principal: 'agent', notBefore: 10_000 }]);
    expect(book.isRevoked(claims)).toBe(true);
  });

  it('knows a token by its id, its subject or its client, until it could not live any more', () => {
    for (const ended of [
      { tokenId: 'not-a-uuid' },
      { principal: 'agent' },
      { principal: 'app' },
      { principal: 'tenant' },
    ]) {
      const book = createRevocationBook();
      book.add([{ ...decision, ...ended }]);
      book.forget(100);
      expect(book.isRevoked(claims)).toBe(true);
      book.forget(101);
      expect(book.isRevoked(claims)).toBe(false);
    }
  });
});
