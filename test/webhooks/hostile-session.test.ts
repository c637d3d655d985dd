// A role, a database or a server may give sessions settings by which values are written or read in another way. The
// service works with each of them, and with all: token, publication, delivery, lists.
import pg from 'pg';
import { afterEach, describe, expect, it } from 'vitest';
import { ConfigError } from '../../src/platform/config.ts';
import { migrate } from '../../src/platform/database/migrate.ts';
import { probeSession } from '../../src/platform/database/session.ts';
import {
  createEmptyDatabase,
  createPatientDatabase,
  useTestDatabase,
  withSchemas,
} from '../setup/database.ts';
import { eventually } from '../workflows/delivery-engine.ts';
import { startStreamRooms } from './streams/stream-rooms.ts';

const HOSTILE: readonly (readonly [string, string])[] = [
  ['DateStyle', "'German, DMY'"],
  ['DateStyle', "'SQL, MDY'"],
  ['TimeZone', "'Asia/Kathmandu'"],
  ['IntervalStyle', "'sql_standard'"],
  ['search_path', "'$user'"],
  ['search_path', "'elsewhere', 'pg_catalog'"],
  ['standard_conforming_strings', 'off'],
  ['bytea_output', "'escape'"],
  ['extra_float_digits', '-15'],
  ['transform_null_equals', 'on'],
  ['array_nulls', 'off'],
  ['row_security', 'off'],
  ['default_transaction_isolation', "'serializable'"],
  ['client_encoding', "'LATIN1'"],
];

/** Of a role in one database, which outweighs role, database and server. */
async function spoil(
  url: string,
  settings: readonly (readonly [string, string])[],
  role = '',
): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const database = client.escapeIdentifier(client.database ?? '');
  const who = role === '' ? `DATABASE ${database}` : `ROLE ${role} IN DATABASE ${database}`;
  for (const [name, value] of settings) await client.query(`ALTER ${who} SET ${name} = ${value}`);
  await client.end();
}

let close: (() => Promise<void>) | undefined;
afterEach(async () => {
  await close?.();
  close = undefined;
});

describe('a session that its role gives other settings', () => {
  const cases = [...HOSTILE.map((one) => [one] as const), HOSTILE.filter(([, value]) => value !== "'$user'")];
  it.each(cases.map((settings) => [settings.map((one) => one.join(' ')).join(', '), settings] as const))(
    'serves tokens, publications, deliveries and lists: %s',
    async (_title, settings) => {
      const rooms = await startStreamRooms(async (url, ownerUrl) => {
        await spoil(ownerUrl, settings);
        await spoil(ownerUrl, settings, new URL(url).username);
        return url;
      });
      close = rooms.close;
      const { owner, receiver } = rooms;
      const granted = await owner.post('/oauth/token', { grant_type: 'client_credentials' });
      expect(granted.status).toBe(200);
      const fields = { url: `${receiver.url}/hook`, event_types: ['orders.order.placed'] };
      expect((await owner.send('POST', '/api/v1/webhooks', fields)).status).toBe(201);
      const event = { type: 'orders.order.placed', data: { text: "it's ü \\ NULL" } };
      const published = await owner.send('POST', '/api/v1/events', event);
      expect(published.status).toBe(202);
      await eventually(() => receiver.of('/hook').length > 0, 'the delivery');
      expect(JSON.parse(receiver.of('/hook')[0]?.body.toString() ?? '').data).toEqual(event.data);
      for (const path of ['webhooks', 'deliveries', 'events', 'agents', 'audit-logs', 'applications'])
        expect([path, (await owner.send('GET', `/api/v1/${path}`)).status]).toEqual([path, 200]);
    },
  );
});

describe('readiness', async () => {
  const test = await useTestDatabase();

  it('finds a session whose times cannot be read, and one without the tables', async () => {
    const query = (text: string) => test.database.query(text);
    await expect(probeSession(test.database)).resolves.toBeUndefined();
    const unread = { query: async () => ({ rows: [{ at: null }], rowCount: 1 }) as never };
    await expect(probeSession(unread)).rejects.toThrow('DateStyle');
    await query('CREATE SCHEMA elsewhere');
    const elsewhere = createPatientDatabase({
      url: withSchemas(test.url, 'elsewhere'),
      pool: 1,
      applicationName: 'test',
    });
    await expect(probeSession(elsewhere)).rejects.toMatchObject({ code: '42P01' });
    await elsewhere.close();
  });
});

describe('the schema of the tables', () => {
  it('is the one that the address names, and no second set of tables is made beside the first', async () => {
    const empty = await createEmptyDatabase();
    close = empty.drop;
    await empty.database.query('CREATE SCHEMA own');
    await migrate(withSchemas(empty.url, 'own'));
    const { rows } = await empty.database.query("SELECT to_regclass('own.tenants') IS NOT NULL AS found");
    expect(rows).toEqual([{ found: true }]);
    const refusal = await migrate(empty.url).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(ConfigError);
    expect(String(refusal)).toMatch(/schema own.*options=-csearch_path%3Down/);
    const made = await empty.database.query("SELECT to_regclass('public.tenants') IS NULL AS none");
    expect(made.rows).toEqual([{ none: true }]);
  });
});
