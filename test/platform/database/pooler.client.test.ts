// Holds that a pooler which keeps no sessions, or drops the settings of a connection, is found by two connections that
// play it, and that a pooler in session mode is none.
import { describe, expect, it } from 'vitest';
import { findPoolerFault, type LentConnection } from '../../../src/platform/database/pooler.client.ts';

const EXPECTED = { statement_timeout: '5000', plan_cache_mode: 'force_generic_plan' };

type Choice = 'free last' | 'free longest';

/** A pooler with backends numbered from 1, of which each statement or each connection gets one. */
function startPooler(
  mode: 'session' | 'transaction',
  { backends = 2, choice = 'free last' as Choice, settings = EXPECTED as Record<string, string> } = {},
) {
  const free = Array.from({ length: backends }, (_, index) => index + 1);
  const take = () => (choice === 'free last' ? free.pop() : free.shift());
  let lent = 0;
  const connect = async (): Promise<LentConnection> => {
    const kept = mode === 'session' ? take() : undefined;
    lent += 1;
    return {
      query: async <Row extends object>(text: string) => {
        if (text.includes('pg_settings'))
          return { rows: Object.entries(settings).map(([name, setting]) => ({ name, setting })) as Row[] };
        const pid = kept ?? take();
        if (kept === undefined && pid !== undefined) free.push(pid);
        return { rows: [{ pid }] as Row[] };
      },
      release: () => {
        lent -= 1;
      },
    };
  };
  return { connect, lent: () => lent };
}

describe('a pooler', () => {
  it.each([
    [1, 'free last'],
    [2, 'free last'],
    [5, 'free last'],
    [1, 'free longest'],
    [2, 'free longest'],
    [3, 'free longest'],
    [7, 'free longest'],
  ] as const)(
    'in transaction mode with %i backends, of which it gives the one %s, is found',
    async (backends, choice) => {
      const pooler = startPooler('transaction', { backends, choice });
      expect(await findPoolerFault(pooler.connect, EXPECTED)).toMatch(
        /transaction or statement mode.*session mode/,
      );
      expect(pooler.lent()).toBe(0);
    },
  );

  it.each(['free last', 'free longest'] as const)(
    'in session mode is none, by the one %s',
    async (choice) => {
      const pooler = startPooler('session', { choice });
      expect(await findPoolerFault(pooler.connect, EXPECTED)).toBeUndefined();
      expect(pooler.lent()).toBe(0);
    },
  );

  it('that drops a setting is found, by its name', async () => {
    const { connect } = startPooler('session', { settings: { ...EXPECTED, statement_timeout: '0' } });
    expect(await findPoolerFault(connect, EXPECTED)).toMatch(/statement_timeout is 0 instead of 5000/);
  });

  it('that refuses a setting is found, and a database that is away is none', async () => {
    const refused = Object.assign(new Error('unsupported startup parameter: lock_timeout'), {
      code: '08P01',
    });
    expect(await findPoolerFault(() => Promise.reject(refused), EXPECTED)).toMatch(
      /startup parameter: lock_timeout/,
    );
    const away = Object.assign(new Error('connect'), { code: 'ECONNREFUSED' });
    await expect(findPoolerFault(() => Promise.reject(away), EXPECTED)).rejects.toMatchObject({
      code: 'temporarily_unavailable',
    });
  });

  it('gets its connection back when it has no second one', async () => {
    const { connect, lent } = startPooler('session');
    let asked = 0;
    const once = () => (asked++ === 0 ? connect() : Promise.reject(new Error('timeout expired')));
    await expect(findPoolerFault(once, EXPECTED)).rejects.toMatchObject({ code: 'temporarily_unavailable' });
    expect(lent()).toBe(0);
  });
});
