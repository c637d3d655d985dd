// Idempotency keys, with real transactions in Postgres.

import { EventEmitter, once } from 'node:events';
import { afterAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { ServiceError } from '../../../src/platform/errors/service-error.ts';
import * as idempotencyStore from '../../../src/platform/http/idempotency.store.ts';
import { defineRoute } from '../../../src/platform/http/route.ts';
import { createPatientDatabase, useTestDatabase } from '../../setup/database.ts';
import { startTestServer, tenantNamed, tokenFor } from './test-server.ts';

let pause = 0;

/** Inserts a row through the request's transaction, as services do. */
const routes = () => [
  defineRoute({
    method: 'POST',
    path: '/things/:kind',
    operationId: 'createThing',
    summary: 'Create',
    tag: 'Test',
    scope: 'agents:write',
    idempotent: true,
    secretFields: ['secret'],
    request: {
      params: z.object({ kind: z.string() }),
      body: z.strictObject({ name: z.string(), note: z.string().optional() }),
    },
    responses: {
      201: {
        description: 'made',
        schema: z.strictObject({ z: z.number(), name: z.string(), secret: z.string().optional() }),
        headers: ['location'],
      },
    },
    errors: ['conflict'],
    handler: ({ context, body }) =>
      test.database.transaction(context, async (transaction) => {
        const { rows } = await transaction.query<{ id: number }>(
          'INSERT INTO things (name) VALUES ($1) RETURNING id',
          [body.name],
        );
        if (pause > 0) await transaction.query('SELECT pg_sleep($1)', [pause]);
        if (body.name === 'refused') throw new ServiceError('conflict');
        const id = rows[0]?.id ?? 0;
        return {
          status: 201,
          headers: { location: `/things/${id}` },
          body: { z: id, name: body.name, secret: 'shown once' },
        };
      }),
  }),
];

const test = await useTestDatabase();
await test.database.query('CREATE TABLE things (id integer GENERATED ALWAYS AS IDENTITY, name text)');
const server = await startTestServer(routes(), { database: test.database });
afterAll(() => server.drain(0));
beforeEach(async () => {
  pause = 0;
  await test.database.query('TRUNCATE things, idempotency_keys');
});

const post = (key: string | undefined, body: unknown, path = '/things/a', subject = 'app') =>
  server.send('POST', path, body, {
    authorization: `Bearer ${tokenFor(subject, 'agents:write')}`,
    ...(key === undefined ? {} : { 'idempotency-key': key }),
  });
const count = async (table: string) => {
  const { rows } = await test.database.query<{ count: number }>(`SELECT count(*) AS count FROM ${table}`);
  return rows[0]?.count;
};

describe('an idempotency key', () => {
  it('repeats the first answer without its secret', async () => {
    const first = await post('k1', { name: 'x', note: 'y' });
    expect(first.status).toBe(201);
    expect(first.body.secret).toBe('shown once');
    expect(first.headers.get('idempotency-replayed')).toBeNull();
    const second = await post('k1', '{ "note": "y",\n "name": "x" }');
    expect(second.status).toBe(201);
    expect(second.headers.get('idempotency-replayed')).toBe('true');
    expect(second.headers.get('location')).toBe(first.headers.get('location'));
    expect(second.text).toBe(`{"z":${first.body.z},"name":"x"}`);
    expect(second.headers.get('content-type')).toBe('application/json');
    expect(await count('things')).toBe(1);
    const kept = await test.database.query<{ all: string }>('SELECT k::text AS all FROM idempotency_keys k');
    expect(kept.rows[0]?.all).not.toContain('shown once');
  });

  it('is no key at all when it is absent', async () => {
    await post(undefined, { name: 'x' });
    await post(undefined, { name: 'x' });
    expect(await count('things')).toBe(2);
    expect(await count('idempotency_keys')).toBe(0);
  });

  it.each([
    ['another body', { name: 'other' }, '/things/a'],
    ['another path', { name: 'x' }, '/things/b'],
  ])('with %s is 422', async (_what, body, path) => {
    await post('k1', { name: 'x' });
    const { status, body: problem } = await post('k1', body, path);
    expect(status).toBe(422);
    expect(problem.error).toBe('idempotency_key_reused');
    expect(await count('things')).toBe(1);
  });

  it('belongs to its principal and its tenant', async () => {
    await post('k1', { name: 'x' });
    expect((await post('k1', { name: 'y' }, '/things/a', 'other')).status).toBe(201);
    expect((await post('k1', { name: 'z' }, '/t/acme/things/a')).status).toBe(201);
    expect(await count('things')).toBe(3);
  });

  it('keeps no refusal, and rolls its work back', async () => {
    expect((await post('k1', { name: 'refused' })).status).toBe(409);
    expect(await count('things')).toBe(0);
    expect((await post('k1', { name: 'x' })).status).toBe(201);
    expect(await count('things')).toBe(1);
  });

  it('is forgotten after 24 hours', async () => {
    await post('k1', { name: 'x' });
    await test.database.query(
      "UPDATE idempotency_keys SET created_at = now() - interval '24 hours 1 second'",
    );
    const again = await post('k1', { name: 'other' });
    expect(again.status).toBe(201);
    expect(again.headers.get('idempotency-replayed')).toBeNull();
    expect((await post('k1', { name: 'other' })).headers.get('idempotency-replayed')).toBe('true');
    expect(await count('idempotency_keys')).toBe(1);
  });

  it.each(['a b', 'x'.repeat(256), 'é'])('%.5j is refused', async (key) => {
    const { status, body } = await post(Buffer.from(key).toString('latin1'), { name: 'x' });
    expect(status).toBe(400);
    expect(body.errors[0].path).toBe('header.idempotency-key');
  });

  it('is looked at only once the request itself is right', async () => {
    await post('k1', { name: 'x' });
    expect((await post('k1', { name: 7 })).status).toBe(400);
    expect((await server.send('POST', '/things/a', { name: 'x' }, { 'idempotency-key': 'k1' })).status).toBe(
      401,
    );
  });

  it('sent 20 times together does the work once', async () => {
    pause = 0.2;
    const answers = await Promise.all(Array.from({ length: 20 }, () => post('k1', { name: 'x' })));
    expect(await count('things')).toBe(1);
    const fresh = answers.filter(
      ({ status, headers }) => status === 201 && !headers.has('idempotency-replayed'),
    );
    expect(fresh).toHaveLength(1);
    for (const { status, headers, body } of answers) {
      if (status === 201) continue;
      expect({ status, error: body.error }).toEqual({ status: 409, error: 'idempotency_in_progress' });
      expect(headers.get('retry-after')).toBe('1');
    }
    const after = await post('k1', { name: 'x' });
    expect(after.headers.get('idempotency-replayed')).toBe('true');
  });

  it('that another process holds is in progress, and free again when that one fails', async () => {
    const other = createPatientDatabase({ url: test.url, pool: 2, applicationName: 'other' });
    const elsewhere = await startTestServer(routes(), { database: other });
    onTestFinished(async () => {
      await elsewhere.drain(0);
      await other.close();
    });
    const signals = new EventEmitter();
    const [isHeld, isEnded] = [once(signals, 'held'), once(signals, 'end')];
    const tenantId = tenantNamed('demo').id;
    const scope = { tenantId, principal: 'application:demo-app', route: 'createThing', key: 'k1' };
    const failing = other.transaction({}, async (transaction) => {
      await idempotencyStore.lock(transaction, scope);
      signals.emit('held');
      await isEnded;
      throw new Error('the first one failed');
    });
    await isHeld;
    const meanwhile = await post('k1', { name: 'x' });
    expect([meanwhile.status, meanwhile.body.error]).toEqual([409, 'idempotency_in_progress']);
    expect(await count('things')).toBe(0);
    signals.emit('end');
    await expect(failing).rejects.toThrow('the first one failed');
    const first = await post('k1', { name: 'x' });
    expect([first.status, first.headers.get('idempotency-replayed')]).toEqual([201, null]);
    const second = await elsewhere.send(
      'POST',
      '/things/a',
      { name: 'x' },
      { authorization: `Bearer ${tokenFor('app', 'agents:write')}`, 'idempotency-key': 'k1' },
    );
    expect([second.status, second.headers.get('idempotency-replayed')]).toEqual([201, 'true']);
    expect(second.body.z).toBe(first.body.z);
  });
});
