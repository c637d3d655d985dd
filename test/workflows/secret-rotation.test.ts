// webhookSecretRotation with everything real: what a receiver sees of an overlap, and how the workflow ends.
import { createHmac } from 'node:crypto';
import { afterAll, describe, expect, it } from 'vitest';
import type { SecretRotationState } from '../../workflows/webhook-secret-rotation.ts';
import { createEngine, eventually, type ScriptedReceiver } from './delivery-engine.ts';

const OLD = 'the old secret, which has enough entropy';
const NEW = 'another one, 0123456789, that comes after';

const engine = await createEngine();
await engine.startProcess();
engine.startRunner();
afterAll(() => engine.close());

async function subscribe() {
  const one = await engine.subscribe();
  await engine.signingSecrets.rotate(engine.context, one.id, { overlapSeconds: 0, secret: OLD });
  return one;
}

/** Which secrets have signed the newest request to this path: main header, further header. */
async function signersOf({ id, path }: { id: string; path: string }) {
  const [delivery = ''] = await engine.publish(id);
  await engine.ended(delivery);
  const request = engine.receiver.of(path).at(-1);
  if (request === undefined) throw new Error('nothing was received');
  return ['x-service-signature-256', 'x-service-signature-256-next'].map((name) => signerOf(request, name));
}

function signerOf(request: ReturnType<ScriptedReceiver['of']>[number], name: string) {
  const value = request.headers[name];
  if (value === undefined) return undefined;
  const header = (field: string) => String(request.headers[`x-service-${field}`]);
  const head = [
    header('signature-suite'),
    header('timestamp'),
    header('signature-max-age'),
    header('delivery'),
    header('event'),
    '',
  ].join('\n');
  const mac = (secret: string) =>
    `sha256=${createHmac('sha256', secret).update(head).update(request.body).digest('hex')}`;
  return Object.entries({ old: OLD, new: NEW }).find(([, secret]) => mac(secret) === value)?.[0] ?? 'nobody';
}

const endOf = (id: string) => engine.entity('webhookSecretRotation', id).result();
const isWaiting = (id: string) =>
  eventually(async () => {
    const state = await engine
      .entity('webhookSecretRotation', id)
      .query<SecretRotationState>('state')
      .catch(() => undefined);
    return state?.doing === 'waiting' && state;
  }, 'the workflow to wait');

const endOverlap = (id: string) =>
  engine.database.query('UPDATE subscriptions SET secret_overlap_ends_at = now() WHERE id = $1', [id]);

describe('webhookSecretRotation', () => {
  it('signs with both secrets while it waits, and with the new one alone from the moment the overlap ends', async () => {
    const one = await subscribe();
    expect(await signersOf(one)).toEqual(['old', undefined]);
    const { overlapEndsAt } = await engine.signingSecrets.rotate(engine.context, one.id, {
      overlapSeconds: 600,
      secret: NEW,
    });
    const state = await isWaiting(one.id);
    expect(state).toMatchObject({ secrets: 'overlapping', overlapEndsAt: overlapEndsAt.toISOString() });
    expect(await signersOf(one)).toEqual(['old', 'new']);
    // The row says that it is over; nobody has told the workflow.
    await endOverlap(one.id);
    expect(await signersOf(one)).toEqual(['new', undefined]);
    expect(await isWaiting(one.id)).toBeTruthy();
    await engine.entity('webhookSecretRotation', one.id).signal('changed');
    expect(await endOf(one.id)).toEqual({ secrets: 'one' });
    expect(await signersOf(one)).toEqual(['new', undefined]);
    const { rows } = await engine.database.query(
      'SELECT next_secret_sealed, secret_overlap_ends_at FROM subscriptions WHERE id = $1',
      [one.id],
    );
    expect(rows).toEqual([{ next_secret_sealed: null, secret_overlap_ends_at: null }]);
  });

  it('finishes by itself when the time has come, and tells so once', async () => {
    const one = await subscribe();
    await engine.signingSecrets.rotate(engine.context, one.id, { overlapSeconds: 2, secret: NEW });
    await eventually(() => endOf(one.id).catch(() => undefined), 'the end');
    const { rows } = await engine.database.query<{ data: { reason?: string } }>(
      "SELECT data FROM audit_log WHERE target_id = $1 AND action = 'webhook.endpoint.secret_rotated' ORDER BY id",
      [one.id],
    );
    expect(rows.map(({ data }) => data.reason)).toEqual(['replaced_at_once', 'overlap_ended']);
  });

  it('ends when its secrets are replaced immediately, and when the subscription is deleted', async () => {
    const [one, two] = [await subscribe(), await subscribe()];
    for (const { id } of [one, two]) {
      await engine.signingSecrets.rotate(engine.context, id, { overlapSeconds: 600 });
      await isWaiting(id);
    }
    await engine.signingSecrets.rotate(engine.context, one.id, { overlapSeconds: 0, secret: NEW });
    expect(await endOf(one.id)).toEqual({ secrets: 'one' });
    await engine.subscriptions.remove(engine.context, two.id);
    await engine.entity('webhookSecretRotation', two.id).signal('changed');
    expect(await endOf(two.id)).toEqual({ secrets: 'gone' });
  });

  it('is found by its subscription, and holds no secret and no path', async () => {
    const one = await subscribe();
    await engine.signingSecrets.rotate(engine.context, one.id, { overlapSeconds: 600, secret: NEW });
    await isWaiting(one.id);
    const query = `SubscriptionId="${one.id}" AND WorkflowType="webhookSecretRotation" AND EntityState="overlapping"`;
    await eventually(async () => (await engine.client.workflow.count(query)).count === 1, 'its visibility');
    const history = await engine.entity('webhookSecretRotation', one.id).fetchHistory();
    const texts = Buffer.from(JSON.stringify(history)).toString();
    for (const text of [NEW, one.path.slice(1)]) {
      expect(texts).not.toContain(text);
      expect(texts).not.toContain(Buffer.from(text).toString('base64').slice(0, 20));
    }
    await engine.signingSecrets.rotate(engine.context, one.id, { overlapSeconds: 0 });
    await endOf(one.id);
  });
});
