// The audit log over HTTP: what a tenant sees of it, and what it can check by itself.
import { createHash, createPublicKey, verify } from 'node:crypto';
import { afterAll, describe, expect, it } from 'vitest';
import { createAuditRoutes } from '../../src/audit/audit.routes.ts';
import { createAccounts } from '../authentication/tokens/accounts.ts';
import { startTestServer, tokenFor } from '../platform/http/test-server.ts';
import { useTestDatabase } from '../setup/database.ts';
import { createTenantContext } from '../webhooks/intake/fixture.ts';
import { createSealing } from './sealing.ts';

const KEY = '0192f0c0-0000-7000-8000-00000000000a';

const test = await useTestDatabase();
const sealing = createSealing(test.database);
const { tenants } = createAccounts(test.database);
const { id } = await tenants.create({ slug: 'demo' });
const server = await startTestServer(
  createAuditRoutes({ auditLogs: sealing.reading, auditProofs: sealing.proofs }),
  {
    database: test.database,
    tenants,
  },
);
const tenant = await tenants.bySlug('demo');
if (tenant === undefined) throw new Error(`no tenant ${id}`);
const context = { tenant, requestId: 'request-1', address: '192.0.2.7' };
await sealing.records.write(test.database, context, {
  audit: [
    {
      action: 'auth.verify',
      outcome: 'failure',
      reason: 'invalid_signature',
      target: { type: 'key', id: KEY },
      actor: { kind: 'agent', id: 'agent-1' },
      keyId: KEY,
      tokenId: 'token-1',
      data: { text: 'ü' },
    },
  ],
});
await sealing.sealAll();
for (let index = 0; index < 4; index += 1) {
  await sealing.write({ ...context, requestId: `request-${index + 2}` });
  await sealing.sealAll();
}
const foreign = await createTenantContext(test.database);
await sealing.write(foreign);
const { rows } = await test.database.query<{ id: string }>('SELECT id FROM audit_log WHERE tenant_id = $1', [
  foreign.tenant.id,
]);
const foreignId = rows[0]?.id ?? '';

afterAll(() => server.drain(0));

const send = (path = '', scopes = ['audit:read']) =>
  server.send('GET', `/api/v1/audit-logs${path}`, undefined, {
    authorization: `Bearer ${tokenFor('auditor', ...scopes)}`,
  });

describe('the audit log over HTTP', () => {
  it('shows every part of a line, in the list and by itself', async () => {
    const { status, body } = await send('?action=auth.verify');
    expect(status).toBe(200);
    expect(body).toEqual({
      data: [
        {
          id: expect.any(String),
          occurred_at: expect.stringMatching(/Z$/),
          action: 'auth.verify',
          outcome: 'failure',
          reason: 'invalid_signature',
          actor: { kind: 'agent', id: 'agent-1' },
          target: { type: 'key', id: KEY },
          key_id: KEY,
          token_id: 'token-1',
          address: '192.0.2.7',
          request_id: 'request-1',
          data: { text: 'ü' },
          user: null,
        },
      ],
      next_cursor: null,
    });
    expect((await send(`/${body.data[0].id}`)).body).toEqual(body.data[0]);
  });

  it.each([
    ['outcome=failure', 1],
    ['actor_kind=agent', 1],
    ['actor_id=agent-1', 1],
    ['actor_id=agent-2', 0],
    ['target_type=key', 1],
    [`target_id=${KEY}&target_type=agent`, 0],
    [`target_id=${KEY}`, 1],
    [`key_id=${KEY}`, 1],
    ['token_id=token-1', 1],
    ['request_id=request-3', 1],
    ['address=192.0.2.7&request_id=request-1', 1],
    ['address=::ffff:192.0.2.7&request_id=request-1', 1],
    ['address=192.0.2.8', 0],
    ['action=agent.created', 4],
    ['action=agent', 0],
    ['since=1970-01-01T00:00:00Z&action=agent.created', 4],
    ['until=1970-01-01T00:00:00Z', 0],
    ['until=9999-12-31T23:59:59Z&action=agent.created', 4],
    ['since=9999-12-31T23:59:59Z', 0],
  ])('finds by %s', async (query, count) => {
    const { status, body } = await send(`?${query}`);
    expect(status).toBe(200);
    expect(body.data).toHaveLength(count);
  });

  it('is read page by page, the newest first, each line once', async () => {
    const whole = (await send()).body.data as { id: string; occurred_at: string }[];
    const seen: string[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const { body } = await send(`?limit=2${cursor === '' ? '' : `&cursor=${cursor}`}`);
      seen.push(...body.data.map(({ id }: { id: string }) => id));
      cursor = body.next_cursor;
    }
    expect(seen).toEqual(whole.map(({ id }) => id));
    expect(seen).toEqual([...seen].sort().reverse());
    const since = whole[1]?.occurred_at ?? '';
    const bounded = await send(`?since=${since}`);
    expect(bounded.body.data.map(({ id }: { id: string }) => id)).toContain(whole[1]?.id);
  });

  it('leaves out what each sign-in writes, where that is asked for', async () => {
    const context = await createTenantContext(test.database);
    const audit = ['agent.created', 'auth.login.success', 'auth.token.issued', 'auth.login.failure'].map(
      (action) => ({ action, outcome: 'success' as const }),
    );
    await sealing.records.write(test.database, context, { audit });
    const actions = async (tokens?: 'true' | 'false') =>
      (await sealing.reading.list(context, { limit: 9, tokens })).data.map(({ action }) => action);
    expect(await actions('false')).toEqual(['auth.login.failure', 'agent.created']);
    expect(await actions('true')).toHaveLength(4);
    expect(await actions()).toHaveLength(4);
    expect((await send('?tokens=false')).status).toBe(200);
    expect((await send('?tokens=no')).body).toMatchObject({
      status: 400,
      detail: expect.stringContaining('tokens'),
    });
  });

  it("counts an actor's tokens and failures by hour, with those whose target is another", async () => {
    const context = await createTenantContext(test.database);
    const actor = { kind: 'agent', id: 'agent-9' } as const;
    const issued = { action: 'auth.token.issued', outcome: 'success' as const, actor };
    await sealing.records.write(test.database, context, {
      audit: [
        { ...issued, target: { type: 'agent', id: 'agent-9' } },
        { ...issued, target: { type: 'delegation', id: 'delegation-1' } },
        {
          ...issued,
          action: 'auth.login.failure',
          outcome: 'failure',
          target: { type: 'agent', id: 'agent-9' },
        },
        { ...issued, actor: { kind: 'agent', id: 'agent-8' }, target: { type: 'agent', id: 'agent-8' } },
        { ...issued, actor: { kind: 'application', id: 'app' }, target: { type: 'agent', id: 'agent-9' } },
      ],
    });
    const found = await sealing.reading.countHours(context, 'agent-9');
    expect(found).toHaveLength(24);
    const sum = (of: 'tokens' | 'failures') => found.reduce((all, hour) => all + hour[of], 0);
    expect([sum('tokens'), sum('failures')]).toEqual([2, 1]);
    const { status, body } = await send('/hours?actor_id=agent-1');
    expect([status, body.hours.length, body.tokens.length, body.most]).toEqual([200, 24, 24, 500]);
    expect(body.failures.reduce((all: number, n: number) => all + n, 0)).toBe(1);
    expect((await send('/hours')).status).toBe(400);
    expect((await send('/hours?actor_id=agent-1', ['agents:read'])).status).toBe(403);
  });

  it('refuses what it does not know, other scopes and other tenants', async () => {
    for (const query of ['outcome=maybe', 'since=yesterday', 'key_id=1', 'cursor=1', 'limit=0'])
      expect((await send(`?${query}`)).status).toBe(400);
    for (const path of ['', '/checkpoints', `/${foreignId}`])
      expect((await send(path, ['agents:read'])).status).toBe(403);
    expect((await send(`/${foreignId}`)).status).toBe(404);
    expect((await send('/nothing')).status).toBe(404);
  });
});

describe('checkpoints over HTTP', () => {
  it('are a chain whose signatures anybody can verify with the keys beside them', async () => {
    const first = (await send('/checkpoints?limit=3')).body;
    const second = (await send(`/checkpoints?limit=200&cursor=${first.next_cursor}`)).body;
    const all = [...first.data, ...second.data].reverse();
    expect(all.map(({ number }) => number)).toEqual(all.map((_, index) => index + 1));
    expect(second.next_cursor).toBeNull();
    let previous = '0'.repeat(64);
    let size = 0;
    for (const checkpoint of all) {
      const jwk = first.keys.find(({ kid }: { kid: string }) => kid === checkpoint.key_id);
      const statement = Buffer.from(checkpoint.statement);
      const key = createPublicKey({ key: jwk, format: 'jwk' });
      expect(verify(null, statement, key, Buffer.from(checkpoint.signature, 'base64url'))).toBe(true);
      expect(checkpoint.previous).toBe(previous);
      size += checkpoint.count;
      expect(checkpoint.tree_size).toBe(size);
      expect(checkpoint.statement.split('\n')).toEqual([
        expect.stringMatching(/^countersign\/audit\/[0-9a-f-]{36}$/),
        String(checkpoint.tree_size),
        Buffer.from(checkpoint.root, 'hex').toString('base64'),
        '',
      ]);
      expect(checkpoint.note.startsWith(`${checkpoint.statement}\n\u2014 countersign/audit/`)).toBe(true);
      previous = createHash('sha256').update(statement).digest('hex');
    }
    expect((await send('/checkpoints?cursor=nonsense')).status).toBe(400);
  });
});

describe('proofs over HTTP', () => {
  const hash = (...parts: Uint8Array[]) => createHash('sha256').update(Buffer.concat(parts)).digest();

  it('lead from a line to the root of a checkpoint', async () => {
    const { data } = (await send('/checkpoints')).body;
    const [oldest, second] = [data.at(-1), data.at(-2)];
    const { status, body } = await send(`/${oldest.first_id}/inclusion-proof?tree_size=${second.tree_size}`);
    expect(status).toBe(200);
    const leaf = hash(Buffer.of(0), Buffer.from(body.entry, 'base64'));
    expect(body).toMatchObject({
      index: 0,
      tree_size: second.tree_size,
      leaf_hash: leaf.toString('base64'),
      note: second.note,
    });
    // The first leaf is the left one everywhere.
    const root = (body.hashes as string[]).reduce(
      (left, right) => hash(Buffer.of(1), left, Buffer.from(right, 'base64')),
      leaf,
    );
    expect(root.toString('hex')).toBe(second.root);
    expect(body.hashes.length).toBeGreaterThan(0);
    expect(body.proof).toBe(
      ['c2sp.org/tlog-proof@v1', 'index 0', ...body.hashes, '', second.note].join('\n'),
    );
    const entry = Buffer.from(body.entry, 'base64');
    expect(entry[0]).toBe(1);
    expect(entry.includes(oldest.first_id)).toBe(true);
    const { rows } = await test.database.query<{ xid: string }>(
      'SELECT xid::text FROM audit_log WHERE id = $1',
      [oldest.first_id],
    );
    const held = Buffer.concat([
      Buffer.of(1, 0, 0, 0, rows[0]?.xid.length ?? 0),
      Buffer.from(rows[0]?.xid ?? ''),
    ]);
    expect(entry.includes(held)).toBe(false);
  });

  it('are of the newest tree unless told, and of no tree that there is not', async () => {
    const { data } = (await send('/checkpoints')).body;
    expect((await send('/consistency-proof?from=1')).body).toMatchObject({ from: 1, to: data[0].tree_size });
    expect((await send(`/consistency-proof?from=${data[0].tree_size}`)).body.hashes).toEqual([]);
    for (const path of [
      '/consistency-proof?from=999',
      '/consistency-proof?from=1&to=999',
      `/${data[0].first_id}/inclusion-proof?tree_size=1`,
      `/${foreignId}/inclusion-proof`,
    ])
      expect((await send(path)).status, path).toBe(404);
    for (const path of ['/consistency-proof', '/consistency-proof?from=0', '/consistency-proof?from=1&to=x'])
      expect((await send(path)).status, path).toBe(400);
    expect((await send('/consistency-proof?from=1', ['agents:read'])).status).toBe(403);
  });
});
