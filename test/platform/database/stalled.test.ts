// A database that is there and does nothing: stopped by a signal, or behind a network that swallows packets.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { TENANT } from '../../../src/identity/tenants/tenant.model.ts';
import { createDatabase, type Database } from '../../../src/platform/database/database.ts';
import { createOutboxListener } from '../../../src/platform/database/listener.client.ts';
import { migrate } from '../../../src/platform/database/migrate.ts';
import { createOutboxNotifier } from '../../../src/platform/database/notifier.client.ts';
import { useTestDatabase } from '../../setup/database.ts';
import { createStallingProxy } from '../../setup/stalling-proxy.ts';

/** Milliseconds of a wait for an answer; no other timer has so many. */
const ANSWER = 3_003;

let proxy: Awaited<ReturnType<typeof createStallingProxy>>;
let database: Database;
let listener: ReturnType<typeof createOutboxListener> | undefined;

const test = await useTestDatabase();

beforeEach(async () => {
  proxy = await createStallingProxy(test.url);
  database = createDatabase({
    url: proxy.url,
    pool: 2,
    applicationName: 'stalled',
    limits: { answer: ANSWER },
  });
});
afterEach(async () => {
  await proxy.close();
  await database.close();
});

const works: readonly (readonly [string, (stall: () => void) => Promise<unknown>])[] = [
  [
    'one statement',
    (stall) => {
      stall();
      return database.query('SELECT 1');
    },
  ],
  [
    'the beginning of a transaction',
    (stall) => {
      stall();
      return database.transaction({}, (unit) => unit.query('SELECT 1'));
    },
  ],
  [
    'a statement within a transaction',
    (stall) =>
      database.transaction({}, async (unit) => {
        await unit.query('SELECT $1::int', [1]);
        stall();
        await unit.query('SELECT $1::int', [1]);
      }),
  ],
  [
    'a commit',
    (stall) =>
      database.transaction({}, async (unit) => {
        await unit.query('SELECT 1');
        stall();
      }),
  ],
  [
    'the beginning of a management transaction',
    (stall) => {
      stall();
      return database.transaction({}, (unit) => unit.model(TENANT).list({}));
    },
  ],
  [
    'a statement within a management transaction',
    (stall) =>
      database.transaction({}, async (unit) => {
        await unit.model(TENANT).list({});
        stall();
        await unit.model(TENANT).list({});
      }),
  ],
  [
    'one call of a model',
    (stall) => {
      stall();
      return database.model(TENANT).list({});
    },
  ],
];

describe('a database that answers nothing', () => {
  it.each(works)(
    'fails %s after one wait, as a dependency that is down, and serves again when it is back',
    async (_, work) => {
      await database.query('SELECT 1');
      await database.transaction({}, (unit) => unit.query('SELECT 1'));
      const timers = vi.spyOn(globalThis, 'setTimeout');
      const stall = () => {
        timers.mockClear();
        proxy.stall();
      };
      await expect(work(stall)).rejects.toMatchObject({
        code: 'temporarily_unavailable',
        retryAfterSeconds: 1,
      });
      expect(timers.mock.calls.filter(([, ms]) => ms === ANSWER)).toHaveLength(1);
      timers.mockRestore();
      proxy.resume();
      const { rows } = await database.query('SELECT 1 AS one');
      expect(rows).toEqual([{ one: 1 }]);
      const again = await database.transaction({}, (unit) => unit.query('SELECT 1 AS one'));
      expect(again.rows).toEqual([{ one: 1 }]);
    },
  );
});

it('is a dependency that is down for a migration too', async () => {
  proxy.stall();
  await expect(migrate(proxy.url)).rejects.toMatchObject({ code: 'temporarily_unavailable' });
});

it('closes although the database does not answer any more', async () => {
  await database.query('SELECT 1');
  const notifier = createOutboxNotifier({ url: proxy.url });
  const listening = new Promise<void>((resolve) => {
    listener = createOutboxListener({ url: proxy.url, onWork: () => resolve() });
  });
  notifier.poke();
  await listening;
  proxy.stall();
  await Promise.all([database.close(), notifier.close(), listener?.close()]);
});
