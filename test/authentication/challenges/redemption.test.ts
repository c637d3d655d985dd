// Verifications that share a statement: a fault of one, a row that somebody holds, and a commit whose answer is lost.
import { beforeEach, describe, expect, it } from 'vitest';
import type { RequestContext } from '../../../src/platform/context.ts';
import type { Database } from '../../../src/platform/database/database.ts';
import {
  createRooms,
  createTestAgent,
  createTestTenant,
  readAudit,
  readEvents,
} from '../../identity/agents/agent-rooms.ts';
import { refuseLaterUses } from '../../platform/database/times-of-uses.ts';
import { useTestDatabase } from '../../setup/database.ts';
import { answer, ask } from './answer.ts';

const CONSUMING = 'UPDATE challenges SET consumed_at';

let context: RequestContext;
/** Called before and after each statement that consumes challenges. */
let before: () => void;
let after: () => void;

const { database } = await useTestDatabase();
const watched: Database = {
  ...database,
  query: async <Row extends object>(text: string, values?: readonly unknown[], members?: 'camelCase') => {
    const isConsuming = text.includes(CONSUMING);
    if (isConsuming) before();
    const result = await database.query<Row>(text, values, members);
    if (isConsuming) after();
    return result;
  },
};
const rooms = createRooms(watched);
beforeEach(async () => {
  context = await createTestTenant(rooms);
  before = () => undefined;
  after = () => undefined;
});

const prepare = async (count: number) =>
  Promise.all(
    Array.from({ length: count }, async () => {
      const agent = await createTestAgent(rooms, context);
      return { agent, input: answer(await ask(rooms, context, agent.fingerprint), agent) };
    }),
  );
const countLogins = async () =>
  (await readAudit(database, context.tenant.id)).filter(({ action }) => action === 'auth.login.success')
    .length;
const countTokens = async () => {
  const { rows } = await database.query<{ count: number }>(
    'SELECT count(*)::int AS count FROM refresh_tokens WHERE tenant_id = $1',
    [context.tenant.id],
  );
  return rows[0]?.count;
};

describe('verifications at the same time', () => {
  it('share statements, and each writes its own records', async () => {
    let statements = 0;
    before = () => (statements += 1);
    const prepared = await prepare(30);
    await Promise.all(prepared.map(({ input }) => rooms.challenges.verify(context, input)));
    expect(statements).toBeLessThan(15);
    expect(await countLogins()).toBe(30);
    expect(await countTokens()).toBe(30);
    const verified = (await readEvents(database, context.tenant.id)).filter(
      ({ type }) => type === 'admin.agent.key.verified',
    );
    expect(verified.map(({ data }) => data.agent_id).sort()).toEqual(
      prepared.map(({ agent }) => agent.agent.id).sort(),
    );
  });

  it('are noted at a time that has passed, and so before the sunset of the key', async () => {
    await refuseLaterUses(database, 'challenges', 'consumed_at');
    for (const { input } of await prepare(60)) await rooms.challenges.verify(context, input);
    expect(await countLogins()).toBe(60);
  });

  it('do not pay for one whose record the database refuses; its challenge stays unused', async () => {
    const prepared = await prepare(12);
    const outcomes = await Promise.all(
      prepared.map(({ input }, n) =>
        rooms.challenges.verify(n === 5 ? { ...context, address: 'U+0000: \0' } : context, input).then(
          () => 'success',
          () => 'failure',
        ),
      ),
    );
    expect(outcomes).toEqual(prepared.map((_, n) => (n === 5 ? 'failure' : 'success')));
    expect(await countLogins()).toBe(11);
    await rooms.challenges.verify(
      context,
      prepared[5]?.input ?? { challengeId: '', signature: '', algorithm: '' },
    );
    expect(await countLogins()).toBe(12);
  });

  it('do not wait for one whose agent somebody holds, which succeeds once it is let go', async () => {
    const prepared = await prepare(8);
    const [held, ...others] = prepared;
    let isSettled = false;
    const waiting = await database.transaction({}, async (unit) => {
      await unit.query('SELECT 1 FROM agents WHERE id = $1 FOR UPDATE', [held?.agent.agent.id]);
      const verification = rooms.challenges
        .verify(context, held?.input ?? { challengeId: '', signature: '', algorithm: '' })
        .finally(() => (isSettled = true));
      for (let n = 0; n < 3; n++)
        await Promise.all(
          others.slice(n * 2, n * 2 + 2).map(({ input }) => rooms.challenges.verify(context, input)),
        );
      expect(isSettled).toBe(false);
      return { verification };
    });
    await waiting.verification;
    expect(await countTokens()).toBe(7);
  });
});

describe('a commit whose answer is lost', () => {
  it('is found to have happened: the agent gets its tokens, and everything is written once', async () => {
    const prepared = await prepare(6);
    let losses = 1;
    after = () => {
      if (losses-- > 0) throw new Error('Connection terminated unexpectedly');
    };
    const granted = await Promise.all(prepared.map(({ input }) => rooms.challenges.verify(context, input)));
    expect(losses).toBeLessThan(0);
    expect(await countLogins()).toBe(6);
    expect(await countTokens()).toBe(6);
    for (const { refreshToken } of granted) {
      const { rows } = await database.query(
        'SELECT 1 FROM refresh_tokens WHERE hash = sha256($1::text::bytea)',
        [refreshToken],
      );
      expect(rows).toHaveLength(1);
    }
  });

  it('of challenges gives the answer that was written', async () => {
    const agent = await createTestAgent(rooms, context);
    let isLost = false;
    const losing = createRooms({
      ...database,
      query: async <Row extends object>(text: string, values?: readonly unknown[], members?: 'camelCase') => {
        const result = await database.query<Row>(text, values, members);
        if (!isLost && text.includes('INSERT INTO challenges')) {
          isLost = true;
          // The repetition must tell the stored times, not those of its own second.
          await database.query("UPDATE challenges SET created_at = created_at - interval '5 seconds'");
          throw new Error('Connection terminated unexpectedly');
        }
        return result;
      },
    });
    const { challenge } = await losing.challenges.issue(context, {
      keyFingerprint: agent.fingerprint,
      scope: 'openid',
    });
    expect(isLost).toBe(true);
    const { rows } = await database.query('SELECT created_at, expires_at FROM challenges WHERE key_id = $1', [
      agent.key.id,
    ]);
    expect(rows).toEqual([{ created_at: challenge.createdAt, expires_at: challenge.expiresAt }]);
  });
});
