// Requests of one tenant that wait for one locked row take nothing from another tenant, and little from their own.
import pg from 'pg';
import { afterAll, expect, it } from 'vitest';
import { countLockWaits } from '../setup/lock-waits.ts';
import { type Answer, type Party, startTenants } from './tenants-server.ts';

/** More requests than a process has connections. */
const WAITING = 60;

const tenants = await startTenants();
const holder = new pg.Client({ connectionString: tenants.url });
await holder.connect();
afterAll(async () => {
  await holder.end();
  await tenants.close();
});

const createAgent = async (party: Party): Promise<string> => {
  const { status, body } = await party.send('POST', '/api/v1/agents', { name: 'Robot' });
  expect(status).toBe(201);
  return `/api/v1/agents/${body.id}`;
};

const rename = (party: Party, path: string): Promise<Answer> =>
  party.send('PATCH', path, { name: 'Another name' });

const countWaiting = () => countLockWaits(holder);

it('requests that wait for a locked row of one tenant hold up no other tenant, and no other row', async () => {
  const { owner, stranger } = tenants;
  const [locked, other] = [await createAgent(owner), await createAgent(owner)];
  const foreign = await createAgent(stranger);
  await holder.query('BEGIN');
  await holder.query('SELECT 1 FROM agents WHERE id = $1 FOR UPDATE', [locked.split('/').at(-1)]);
  const waiting = Array.from({ length: WAITING }, () => rename(owner, locked));
  await expect.poll(countWaiting).toBeGreaterThan(0);
  const answers: Record<string, number[]> = {};
  const note = (name: string, { status }: Answer) => {
    answers[name] = [...(answers[name] ?? []), status];
  };
  let most = 0;
  for (let round = 0; round < 5; round += 1) {
    most = Math.max(most, await countWaiting());
    note('keys', await stranger.send('GET', '/.well-known/jwks.json', undefined, null));
    note('token', await stranger.post('/oauth/token', { grant_type: 'client_credentials' }));
    note('list', await stranger.send('GET', '/api/v1/agents'));
    note('create', await stranger.send('POST', '/api/v1/agents', { name: 'Robot' }));
    note('change', await rename(stranger, foreign));
    note('own keys', await owner.send('GET', '/.well-known/jwks.json', undefined, null));
    note('own other row', await rename(owner, other));
  }
  await holder.query('ROLLBACK');
  const all = (status: number) => Array.from({ length: 5 }, () => status);
  expect(answers).toEqual({
    keys: all(200),
    token: all(200),
    list: all(200),
    create: all(201),
    change: all(200),
    'own keys': all(200),
    'own other row': all(200),
  });
  expect(most).toBeLessThanOrEqual(2);
  // The waiting requests were answered, and asked to come back.
  for (const { status, headers } of await Promise.all(waiting)) {
    expect([200, 503]).toContain(status);
    if (status === 503) expect(headers.get('retry-after')).toBe('1');
  }
  expect((await rename(owner, locked)).status).toBe(200);
});
