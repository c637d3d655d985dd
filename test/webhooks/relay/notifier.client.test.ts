// The notifier beside a network that stalls: it keeps one connection, whatever became of the earlier ones.
import pg from 'pg';
import { afterAll, expect, it, vi } from 'vitest';
import { createOutboxNotifier } from '../../../src/platform/database/notifier.client.ts';
import { useTestDatabase } from '../../setup/database.ts';
import { PATIENCE } from '../../setup/patience.ts';
import { createStallingProxy } from '../../setup/stalling-proxy.ts';

const CHANNEL = 'countersign_stalled';

/** The backends that notified. */
const notifiers = new Set<number>();

const test = await useTestDatabase();
const proxy = await createStallingProxy(test.url);
const listener = new pg.Client({ connectionString: test.url });
await listener.connect();
await listener.query(`LISTEN ${CHANNEL}`);
listener.on('notification', ({ processId }) => notifiers.add(processId));
afterAll(async () => {
  await listener.end();
  await proxy.close();
});

const connections = async () => {
  const { rowCount } = await test.database.query(
    `SELECT 1 FROM pg_stat_activity WHERE application_name = 'countersign notifier' AND datname = current_database()`,
  );
  return rowCount;
};

it('leaves no connection behind when one had no answer, and notifies on the next', async () => {
  const errors: string[] = [];
  const notifier = createOutboxNotifier({
    url: proxy.url,
    channel: CHANNEL,
    onError: (error) => errors.push(error.message),
  });
  const pokeUntil = (count: number) =>
    vi.waitFor(() => {
      notifier.poke();
      expect(notifiers.size).toBe(count);
    }, PATIENCE);
  await pokeUntil(1);
  expect(await connections()).toBe(1);
  proxy.stall();
  notifier.poke();
  await vi.waitFor(() => expect(errors).toEqual(['Query read timeout']), PATIENCE);
  proxy.resume();
  await pokeUntil(2);
  await vi.waitFor(async () => expect(await connections()).toBe(1), PATIENCE);
  expect(errors).toEqual(['Query read timeout']);
  await notifier.close();
  await vi.waitFor(async () => expect(await connections()).toBe(0), PATIENCE);
});
