// Which tables somebody without any credential can fill, and by how much: docs/limits.md has the bounds.
import { randomUUID } from 'node:crypto';
import { afterAll, expect, it } from 'vitest';
import { startTenants } from './tenants-server.ts';

const TIMES = 25;

const tenants = await startTenants(() => [], undefined, {
  RATE_LIMIT_TENANT: '60000',
  RATE_LIMIT_ADDRESS: '1200',
  RATE_LIMIT_FINGERPRINT_FAILURES: '10',
  RATE_LIMIT_CLIENT_FAILURES: '10',
  RATE_LIMIT_PUBLISH: '60000',
});
afterAll(() => tenants.close());

/** Rows of every table that a request could write; partitions count with their table. */
async function countRows(): Promise<Record<string, number>> {
  const { rows: tables } = await tenants.database.query<{ name: string }>(
    `SELECT c.relname AS name FROM pg_class c WHERE c.relnamespace = current_schema()::regnamespace
     AND c.relkind IN ('r', 'p') AND NOT c.relispartition`,
  );
  const { rows } = await tenants.database.query<{ name: string; count: number }>(
    tables
      .map(({ name }) => `SELECT '${name}' AS name, count(*)::int AS count FROM ${name}`)
      .join(' UNION ALL '),
  );
  return Object.fromEntries(rows.map(({ name, count }) => [name, count]));
}

/** Each table that has grown since, with the number of its new rows. */
async function growthSince(before: Record<string, number>): Promise<Record<string, number>> {
  const grown = Object.entries(await countRows()).map(
    ([name, count]) => [name, count - (before[name] ?? 0)] as const,
  );
  return Object.fromEntries(grown.filter(([, more]) => more > 0));
}

it('made-up clients, keys, tokens and challenges fill no table but the counters, by a bounded number', async () => {
  const { owner } = tenants;
  const made = () => randomUUID();
  const client = () => `Basic ${Buffer.from(`${made()}:wrong`).toString('base64')}`;
  const id = () => `0190a5c6-0000-7000-8000-${made().slice(-12)}`;
  const fingerprint = () => `ed25519:${made().replaceAll('-', '').repeat(2)}`;
  const requests: readonly (() => Promise<{ status: number }>)[] = [
    () => owner.post('/oauth/token', { grant_type: 'client_credentials' }, client()),
    () => owner.post('/oauth/token', { grant_type: 'refresh_token', refresh_token: made() }, ''),
    () => owner.post('/oauth/introspect', { token: made() }, client()),
    () => owner.post('/oauth/revoke', { token: made() }, client()),
    () => owner.send('POST', '/auth/agent/challenge', { key_fingerprint: fingerprint() }, null),
    () =>
      owner.send(
        'POST',
        '/auth/agent/verify',
        { challenge_id: id(), signature: made(), algorithm: 'ed25519' },
        null,
      ),
    () => owner.send('POST', '/auth/agent/enroll', { token: made(), public_key: made() }, null),
    () => owner.send('GET', '/api/v1/agents', undefined, made()),
    () => owner.send('POST', '/api/v1/agents', { name: made() }, made(), { 'idempotency-key': made() }),
    () =>
      owner.send('POST', '/api/v1/events', { type: 'a.b', data: {} }, null, { 'idempotency-key': made() }),
    () => owner.send('GET', `/${made()}`, undefined, null),
  ];
  const before = await countRows();
  for (let time = 0; time < TIMES; time += 1) {
    const answers = await Promise.all(requests.map((request) => request()));
    for (const { status } of answers) expect([400, 401, 404, 429]).toContain(status);
  }
  const grown = await growthSince(before);
  expect(Object.keys(grown)).toEqual(['rate_limits']);
  // Counters are by address and limit, and for clients by one of 256 parts of the ids: not one for each made-up name.
  expect(grown.rate_limits).toBeLessThan(TIMES * 6);
});
