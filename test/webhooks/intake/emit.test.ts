// The fan-out of emitted events, in the transaction that causes them.

import { describe, expect, it, vi } from 'vitest';
import { findEventType } from '../../../src/events/catalogue.ts';
import { ACCESS_TYPES, type JsonObject, prepareEvent } from '../../../src/events/event.ts';
import type { RequestContext } from '../../../src/platform/context.ts';
import { newId } from '../../../src/platform/database/ids.ts';
import * as store from '../../../src/webhooks/intake/event.store.ts';
import { RecordService } from '../../../src/webhooks/intake/record.service.ts';
import { useTestDatabase } from '../../setup/database.ts';
import { countRows, createTenantContext, insertSubscription } from './fixture.ts';

let context: RequestContext;

const poke = vi.fn();
const records = new RecordService({ notifier: { poke } });

const test = await useTestDatabase();

const FAN_OUT: readonly {
  title: string;
  filters: string[];
  type: string;
  active?: boolean;
  deleted?: boolean;
  expected: number;
}[] = [
  { title: 'an exact filter', filters: ['org.member.added'], type: 'org.member.added', expected: 1 },
  { title: 'another type', filters: ['org.member.added'], type: 'org.member.role_changed', expected: 0 },
  { title: 'a longer type than the filter', filters: ['org.member'], type: 'org.member.added', expected: 0 },
  { title: 'a prefix', filters: ['org.*'], type: 'org.member.added', expected: 1 },
  { title: 'a prefix of two segments', filters: ['org.member.*'], type: 'org.member.added', expected: 1 },
  { title: 'a prefix of another word', filters: ['or.*'], type: 'org.created', expected: 0 },
  { title: 'a prefix that is the type itself', filters: ['org.created.*'], type: 'org.created', expected: 0 },
  { title: 'everything', filters: ['*'], type: 'a.b.c.d.e', expected: 1 },
  {
    title: 'several filters that match',
    filters: ['*', 'org.*', 'org.created'],
    type: 'org.created',
    expected: 1,
  },
  { title: 'an inactive subscription', filters: ['*'], type: 'org.created', active: false, expected: 1 },
  { title: 'a deleted subscription', filters: ['*'], type: 'org.created', deleted: true, expected: 0 },
];

describe('emit', () => {
  it.each(FAN_OUT)('$title gives $expected deliveries', async ({ type, expected, ...subscription }) => {
    context = await createTenantContext(test.database);
    const id = await insertSubscription(test.database, context, subscription);
    const [emitted] = await test.database.transaction({}, (unit) =>
      records.write(unit, context, { events: [{ type, data: { n: 1 } }] }),
    );
    expect(emitted?.deliveries).toBe(expected);
    expect(await countRows(test.database, context.tenant.id)).toEqual({
      events: expected,
      deliveries: expected,
      outbox: expected,
      published: 0,
    });
    const { rows } = await test.database.query(
      `SELECT d.subscription_id, d.status, d.attempt_count, d.next_attempt_at IS NOT NULL AS due, o.kind, o.endpoint,
         o.delivery_id = d.id AS same, d.event_row = e.id AS joined
       FROM deliveries d JOIN outbox o ON o.delivery_id = d.id JOIN events e ON e.event_id = d.event_id WHERE d.tenant_id = $1`,
      [context.tenant.id],
    );
    expect(rows).toEqual(
      expected === 0
        ? []
        : [
            {
              subscription_id: id,
              status: 'pending',
              attempt_count: 0,
              due: true,
              kind: 'first',
              endpoint: id,
              same: true,
              joined: true,
            },
          ],
    );
  });

  it('stores the body byte for byte, and never another tenant gets it', async () => {
    context = await createTenantContext(test.database);
    const other = await createTenantContext(test.database);
    await insertSubscription(test.database, context, { filters: ['*'] });
    await insertSubscription(test.database, other, { filters: ['*'] });
    const occurredAt = new Date('2026-02-03T04:05:06.789Z');
    const data = { text: 'a "quoted" \\ é 🙂 \u0000 \ud800', list: [1, null, { deep: true }], 'key,{}': '' };
    const [emitted] = await test.database.transaction({}, (unit) =>
      records.write(unit, context, { events: [{ type: 'org.created', data, occurredAt }] }),
    );
    const { rows } = await test.database.query<{ body: Buffer; occurred_at: Date }>(
      'SELECT body, occurred_at FROM events WHERE tenant_id = $1',
      [context.tenant.id],
    );
    const expected = JSON.stringify({
      event_id: emitted?.eventId,
      type: 'org.created',
      occurred_at: '2026-02-03T04:05:06.789Z',
      tenant_id: context.tenant.id,
      data,
    });
    expect(rows[0]?.body.toString('utf8')).toBe(expected);
    expect(rows[0]?.occurred_at).toEqual(occurredAt);
    expect((await countRows(test.database, other.tenant.id))?.deliveries).toBe(0);
  });

  it('reaches one subscription only, or all but one, and answers in the order of the input', async () => {
    context = await createTenantContext(test.database);
    const quiet = await insertSubscription(test.database, context, { filters: ['org.created'] });
    const audit = await insertSubscription(test.database, context, { filters: ['*'] });
    const emitted = await test.database.transaction({}, (unit) =>
      records.write(unit, context, {
        events: [
          { type: 'org.member.added', data: {}, exceptSubscription: audit },
          { type: 'org.created', data: {}, exceptSubscription: quiet },
          { type: 'wallet.tx.signed', data: {}, onlySubscription: quiet, eventId: 'mine', test: true },
          { type: 'wallet.tx.signed', data: {}, onlySubscription: newId(), test: true },
        ],
      }),
    );
    expect(emitted.map(({ deliveries }) => deliveries)).toEqual([0, 1, 1, 0]);
    expect(emitted[2]?.eventId).toBe('mine');
    expect(emitted[3]?.deliveryId).toBeUndefined();
    const { rows } = await test.database.query(
      'SELECT id, subscription_id, test FROM deliveries WHERE tenant_id = $1 ORDER BY test',
      [context.tenant.id],
    );
    expect(rows).toEqual([
      { id: expect.any(String), subscription_id: audit, test: false },
      { id: emitted[2]?.deliveryId, subscription_id: quiet, test: true },
    ]);
  });

  it('keeps what ends access, for those that follow the feed, also without a subscription', async () => {
    context = await createTenantContext(test.database);
    poke.mockClear();
    const token = {
      token_type: 'access_token',
      token_id: newId(),
      sub: newId(),
      client_id: 'c',
      revoked_by: 'c',
    };
    const emitted = await test.database.transaction({}, (unit) =>
      records.write(unit, context, {
        events: [
          { type: 'auth.token.revoked', data: token },
          { type: 'auth.token.revoked', data: token, onlySubscription: newId(), test: true },
          { type: 'webhook.test', data: { subscription_id: newId(), message: 'nobody' } },
        ],
      }),
    );
    expect(emitted.map(({ deliveries }) => deliveries)).toEqual([0, 0, 0]);
    const { rows } = await test.database.query('SELECT event_id, type FROM events WHERE tenant_id = $1', [
      context.tenant.id,
    ]);
    expect(rows).toEqual([{ event_id: emitted[0]?.eventId, type: 'auth.token.revoked' }]);
    expect(poke).not.toHaveBeenCalled();
  });

  it.each(ACCESS_TYPES)('%s is a type that the service emits', (type) => {
    expect(findEventType(type)?.reserved).toBe(true);
  });

  it('leaves nothing behind and pokes nobody when its transaction fails', async () => {
    context = await createTenantContext(test.database);
    await insertSubscription(test.database, context, { filters: ['*'] });
    poke.mockClear();
    const failing = test.database.transaction({}, async (unit) => {
      await records.write(unit, context, { events: [{ type: 'org.created', data: {} }] });
      throw new Error('the change failed');
    });
    await expect(failing).rejects.toThrow('the change failed');
    expect(await countRows(test.database, context.tenant.id)).toEqual({
      events: 0,
      deliveries: 0,
      outbox: 0,
      published: 0,
    });
    expect(poke).not.toHaveBeenCalled();
    await test.database.transaction({}, (tx) =>
      records.write(tx, context, { events: [{ type: 'org.created', data: {} }] }),
    );
    expect(poke).toHaveBeenCalledTimes(1);
  });

  it('changes nothing when the same rows are written again, also after the relay took them', async () => {
    context = await createTenantContext(test.database);
    await insertSubscription(test.database, context, { filters: ['*'] });
    const record = prepareEvent(
      { type: 'org.created', data: {} },
      { id: newId(), tenantId: context.tenant.id, now: new Date() },
    );
    const first = await store.emit(test.database, [record]);
    await test.database.query('DELETE FROM outbox WHERE tenant_id = $1', [context.tenant.id]);
    expect(await store.emit(test.database, [record])).toEqual(first);
    expect(await countRows(test.database, context.tenant.id)).toEqual({
      events: 1,
      deliveries: 1,
      outbox: 0,
      published: 0,
    });
  });

  it('refuses data of its own types that the catalogue does not describe, unless it was told not to look', async () => {
    const emit =
      (type: string, data: JsonObject, service = records) =>
      () =>
        service.prepare({ ...context, tenant: { id: newId() } }, { events: [{ type, data }] });
    const data = { subscription_id: newId(), message: 'This is a test delivery.' };
    expect(emit('webhook.test', data)).not.toThrow();
    expect(emit('webhook.test', { ...data, more: 1 })).toThrow(/webhook\.test carries other data.*more/s);
    expect(emit('webhook.test', { message: '' })).toThrow(/subscription_id/);
    expect(emit('webhook.made_up', data)).toThrow('webhook.made_up is not in the catalogue');
    const unchecked = new RecordService({ notifier: { poke }, checked: false });
    expect(emit('webhook.made_up', data, unchecked)).not.toThrow();
  });

  it('refuses a body over 256 KiB', async () => {
    context = await createTenantContext(test.database);
    const emit = (length: number) =>
      test.database.transaction({}, (unit) =>
        records.write(unit, context, {
          events: [{ type: 'org.created', data: { text: 'é'.repeat(length) } }],
        }),
      );
    await expect(emit(131_072)).rejects.toMatchObject({ code: 'payload_too_large' });
    await expect(emit(130_000)).resolves.toHaveLength(1);
  });
});
