// Rotation of signing secrets over HTTP, against a real database: what each rotation makes of the two secrets of a row.
import { afterAll, describe, expect, it } from 'vitest';
import { newId } from '../../../src/platform/database/ids.ts';
import { decideSecretStep } from '../../../src/webhooks/subscriptions/signing-secret.ts';
import { createWebhookRooms } from '../webhook-rooms.ts';

const rooms = await createWebhookRooms();
afterAll(() => rooms.close());

const OWN = 'my own secret with enough entropy in it';
const NEXT = 'the secret that comes after it, 0123456789';
const rotate = (id: string, body: unknown = {}, headers: Record<string, string> = {}) =>
  rooms.send('POST', `/api/v1/webhooks/${id}/secret/rotate`, body, headers);

/** The secrets as they are stored, in the clear. */
async function secretsOf(id: string) {
  const { rows } = await rooms.database.query<{ now: Buffer; next: Buffer | null; ends: Date | null }>(
    'SELECT secret_sealed AS now, next_secret_sealed AS next, secret_overlap_ends_at AS ends FROM subscriptions WHERE id = $1',
    [id],
  );
  const [row] = rows;
  const open = (sealed: Buffer | null | undefined) => (sealed ? rooms.sealing.openSecret(id, sealed) : null);
  return { now: open(row?.now), next: open(row?.next), ends: row?.ends ?? null };
}

const passOverlap = (id: string) =>
  rooms.database.query(
    "UPDATE subscriptions SET secret_overlap_ends_at = now() - interval '1 s' WHERE id = $1",
    [id],
  );

async function toldOf(id: string) {
  const { rows } = await rooms.database.query<{ audit: string[]; commands: string[] }>(
    `SELECT
       (SELECT coalesce(array_agg(action ORDER BY id), '{}') FROM audit_log WHERE target_id = $1::text AND action LIKE '%secret%') AS audit,
       (SELECT coalesce(array_agg(workflow), '{}') FROM workflow_commands WHERE entity_id = $1::uuid) AS commands`,
    [id],
  );
  return rows[0];
}

describe('POST /api/v1/webhooks/{id}/secret/rotate', () => {
  it('puts a generated secret beside the present one for a day, and shows it once', async () => {
    const id = await rooms.subscribe({ secret: OWN });
    const headers = { 'idempotency-key': newId() };
    const { status, body } = await rotate(id, {}, headers);
    expect(status).toBe(200);
    expect(body.secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    const stored = await secretsOf(id);
    expect(stored).toMatchObject({ now: OWN, next: body.secret });
    expect(body.overlap_ends_at).toBe(stored.ends?.toISOString());
    expect(Date.parse(body.overlap_ends_at) - Date.now()).toBeGreaterThan(86_000_000);
    const shown = await rooms.send('GET', `/api/v1/webhooks/${id}`);
    expect(shown.body.secret_overlap_ends_at).toBe(body.overlap_ends_at);
    expect(shown.text).not.toContain(body.secret);
    const again = await rotate(id, {}, headers);
    expect([again.status, again.body]).toEqual([200, { overlap_ends_at: body.overlap_ends_at }]);
    expect(await toldOf(id)).toEqual({
      audit: ['webhook.endpoint.secret_rotation_started'],
      commands: ['webhookSecretRotation'],
    });
  });

  it("takes a caller's own secret by the rules of creation, and never echoes it", async () => {
    const id = await rooms.subscribe();
    for (const secret of ['short', 'a'.repeat(64)]) {
      const refused = await rotate(id, { secret });
      expect([refused.status, refused.body.errors[0].path]).toEqual([400, 'body.secret']);
      expect(refused.text).not.toContain(secret);
    }
    const { status, body } = await rotate(id, { secret: NEXT, overlap_seconds: 60 });
    expect([status, Object.keys(body)]).toEqual([200, ['overlap_ends_at']]);
    expect(await secretsOf(id)).toMatchObject({ next: NEXT });
  });

  it('refuses the present secret, and another rotation while two secrets sign, naming the end', async () => {
    const id = await rooms.subscribe({ secret: OWN });
    expect((await rotate(id, { secret: OWN })).body.errors).toEqual([
      { path: 'body.secret', message: 'is the present secret' },
    ]);
    const { body } = await rotate(id, { overlap_seconds: 600, secret: NEXT });
    const second = await rotate(id, { overlap_seconds: 1 });
    expect([second.status, second.body.error]).toEqual([409, 'conflict']);
    expect(second.body.detail).toContain(body.overlap_ends_at);
    expect(await secretsOf(id)).toMatchObject({ now: OWN, next: NEXT });
  });

  it('replaces immediately without an overlap, and both secrets of one that is under way', async () => {
    const id = await rooms.subscribe({ secret: OWN });
    await rotate(id, { overlap_seconds: 600 });
    const { status, body } = await rotate(id, { overlap_seconds: 0, secret: NEXT });
    expect(status).toBe(200);
    expect(Date.parse(body.overlap_ends_at)).toBeLessThanOrEqual(Date.now() + 1);
    expect(await secretsOf(id)).toEqual({ now: NEXT, next: null, ends: null });
    expect((await toldOf(id))?.audit).toEqual([
      'webhook.endpoint.secret_rotation_started',
      'webhook.endpoint.secret_rotated',
    ]);
  });

  it('begins another rotation when the overlap is over, from the secret that has taken over', async () => {
    const id = await rooms.subscribe({ secret: OWN });
    await rotate(id, { secret: NEXT });
    await passOverlap(id);
    expect((await rotate(id, { secret: NEXT })).status).toBe(400);
    const { status, body } = await rotate(id);
    expect(status).toBe(200);
    expect(await secretsOf(id)).toMatchObject({ now: NEXT, next: body.secret });
    expect((await toldOf(id))?.audit).toEqual([
      'webhook.endpoint.secret_rotation_started',
      'webhook.endpoint.secret_rotated',
      'webhook.endpoint.secret_rotation_started',
    ]);
  });

  it('tells everybody but the subscription itself, and no secret', async () => {
    const watcher = await rooms.subscribe({ event_types: ['webhook.*'] });
    const id = await rooms.subscribe({ event_types: ['webhook.*'], secret: OWN });
    await rotate(id, { secret: NEXT, overlap_seconds: 60 });
    await passOverlap(id);
    await rooms.signingSecrets.finish({ tenantId: rooms.demo.tenant.id, subscriptionId: id });
    const { rows } = await rooms.database.query<{ type: string; subscription_id: string; body: string }>(
      `SELECT e.type, d.subscription_id, convert_from(e.body, 'UTF8') AS body FROM events e JOIN deliveries d ON d.event_row = e.id
       WHERE e.type LIKE 'webhook.endpoint.secret%' AND convert_from(e.body, 'UTF8') LIKE '%' || $1 || '%' ORDER BY e.id`,
      [id],
    );
    const heard = rows.filter(({ subscription_id }) => subscription_id === watcher).map(({ type }) => type);
    expect(heard).toEqual(['webhook.endpoint.secret_rotation_started', 'webhook.endpoint.secret_rotated']);
    expect(rows.some(({ subscription_id }) => subscription_id === id)).toBe(false);
    for (const { body } of rows) expect(body).not.toMatch(new RegExp(`${OWN}|${NEXT}`));
  });

  it.each([
    ['an overlap below 0', { overlap_seconds: -1 }],
    ['an overlap of more than 7 days', { overlap_seconds: 604_801 }],
    ['half a second', { overlap_seconds: 0.5 }],
    ['an unknown field', { next: NEXT }],
  ])('refuses %s', async (_, body) => {
    expect((await rotate(await rooms.subscribe(), body)).status).toBe(400);
  });

  it('knows no subscription that is deleted or of another tenant', async () => {
    const foreign = await rooms.subscribe({}, '/t/acme');
    const deleted = await rooms.subscribe();
    await rooms.send('DELETE', `/api/v1/webhooks/${deleted}`);
    for (const id of [foreign, deleted]) expect((await rotate(id)).status).toBe(404);
  });
});

describe('what is due', () => {
  const now = new Date('2026-01-01T00:00:00Z');
  const at = (seconds: number) => ({ overlapEndsAt: new Date(now.getTime() + seconds * 1_000), now });

  it.each([
    ['nothing without a rotation', { overlapEndsAt: null, now }, { kind: 'end' }],
    ['waiting for the end', at(5), { kind: 'wait', delayMs: 5_000 }],
    ['a day at most', at(604_800), { kind: 'wait', delayMs: 86_400_000 }],
    ['the end, at its moment', at(0), { kind: 'finish' }],
    ['the end, late', at(-5), { kind: 'finish' }],
  ])('%s', (_, found, step) => {
    expect(decideSecretStep(found)).toEqual(step);
  });
});
