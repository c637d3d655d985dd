// The whole engine sends to the receiver of packages/python, which shares no code with the service: both read the
// specification only. Then what was really sent is tampered with in every way, and both that receiver and ours must
// refuse it.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createExpressReceiver, createMemoryDeliveryLog } from '../../../packages/receiver/src/index.ts';
import { createEngine, type DeliveryEngine, eventually } from '../../workflows/delivery-engine.ts';
import { attemptTo, startLocalSender } from '../deliveries/attempt.ts';
import { hasPython, headersOf, type RawRequest, sendRaw, startPythonReceiver } from './python-receiver.ts';

const SECRET = `whsec_${'0123456789abcdefghijklmnopqrstuvwxyzABCDEF'}`;
const NEXT = `whsec_${'FEDCBAzyxwvutsrqponmlkjihgfedcba9876543210'}`;

let engine: DeliveryEngine;
let python: Awaited<ReturnType<typeof startPythonReceiver>>;
let ours: { port: number; close(): void };

/** Waits for the lines of the receiver that fit, exactly `count`: a line may come after the answer to its request. */
async function told<Line>(count: number, lines: readonly Line[], fits: (line: Line) => boolean) {
  await eventually(() => lines.filter(fits).length >= count, `${count} lines of receiver.py`);
  const found = lines.filter(fits);
  expect(found).toHaveLength(count);
  return found;
}

// A machine that only tries the project may have no Python; .ci/run, which says CI, must have it.
const withPython = describe.skipIf(!hasPython() && process.env.CI === undefined);

withPython('a receiver in another language', () => {
  beforeAll(async () => {
    python = await startPythonReceiver([SECRET]);
    ours = await startOurs();
    engine = await createEngine();
    await engine.startProcess();
  });
  afterAll(async () => {
    await engine?.close();
    await python?.close();
    ours?.close();
  });

  describe('a receiver with only Python’s standard library', () => {
    it('accepts what the engine sends, and records it by its delivery id', async () => {
      const subscription = await subscribe(python.url);
      const ids = await engine.publish(subscription, 3);
      const ended = await Promise.all(ids.map((id) => engine.ended(id)));
      expect(ended.map(({ status, attempt_count: attempts }) => [status, attempts])).toEqual(
        Array(3).fill(['delivered', 1]),
      );
      const records = await told(3, python.records, ({ delivery_id: id }) => ids.includes(id));
      const { rows } = await engine.database.query<{ id: string; event_id: string }>(
        'SELECT id, event_id FROM deliveries WHERE id = ANY($1::uuid[])',
        [ids],
      );
      expect(new Map(records.map((record) => [record.delivery_id, record.event_id]))).toEqual(
        new Map(rows.map((row) => [row.id, row.event_id])),
      );
      expect(new Set(records.map((record) => record.event_type))).toEqual(new Set(['wallet.tx.signed']));
    });

    it('gets a delivery again, signed afresh, after it was in trouble, and then takes it once', async () => {
      const subscription = await subscribe(python.url);
      await python.loseSecrets();
      const [id = ''] = await engine.publish(subscription);
      await eventually(async () => (await engine.delivery(id)).attempt_count > 0, 'a failed attempt');
      await python.setSecrets([SECRET]);
      const ended = await engine.ended(id);
      expect(ended).toMatchObject({ status: 'delivered', last_error: null });
      expect(ended.attempt_count).toBeGreaterThan(1);
      await told(1, python.records, ({ delivery_id: recorded }) => recorded === id);
    });

    it('accepts deliveries through a whole rotation of the secret, whichever of the two it has', async () => {
      const subscription = await subscribe(python.url);
      await engine.database.query(
        `UPDATE subscriptions SET next_secret_sealed = $2, secret_overlap_ends_at = now() + interval '1 hour' WHERE id = $1`,
        [subscription, engine.sealing.sealSecret(subscription, NEXT)],
      );
      for (const [secrets, status] of [
        [[SECRET], 'delivered'],
        [[NEXT], 'delivered'],
        [[SECRET, NEXT], 'delivered'],
        [['whsec_neither'], 'failed'],
      ] as const) {
        await python.setSecrets(secrets);
        const [id = ''] = await engine.publish(subscription);
        expect((await engine.ended(id)).status).toBe(status);
      }
      await engine.database.query(
        `UPDATE subscriptions SET secret_overlap_ends_at = now() - interval '1 second' WHERE id = $1`,
        [subscription],
      );
      await python.setSecrets([NEXT]);
      const [id = ''] = await engine.publish(subscription);
      expect((await engine.ended(id)).status).toBe('delivered');
      await python.setSecrets([SECRET]);
    });
  });

  describe('what was really sent', () => {
    let genuine: RawRequest;

    beforeAll(async () => {
      const path = `/${randomUUID()}`;
      const subscription = await subscribe(`${engine.receiver.url}${path}`);
      const [id = ''] = await engine.publish(subscription);
      await engine.ended(id);
      const [request] = engine.receiver.of(path);
      if (request === undefined) throw new Error('nothing was sent');
      genuine = { method: request.method, headers: headersOf(request.rawHeaders), body: request.body };
    });

    /** Both receivers' answers; they must be the same. */
    async function sendToBoth(request: RawRequest) {
      const [theirs, own] = await Promise.all([sendRaw(python.port, request), sendRaw(ours.port, request)]);
      expect(own).toMatchObject({ status: theirs.status, body: theirs.body });
      return { answer: `${theirs.status} ${theirs.body}`, allow: [theirs.headers.allow, own.headers.allow] };
    }

    const withHeader = (name: string, change: (value: string) => string[]): RawRequest => ({
      ...genuine,
      headers: genuine.headers.flatMap(([key, value]) =>
        key.toLowerCase() === name.toLowerCase()
          ? change(value).map((changed) => [key, changed] as const)
          : [[key, value] as const],
      ),
    });
    const withBody = (change: (body: Buffer) => Uint8Array | string): RawRequest => ({
      ...genuine,
      body: Buffer.from(change(Buffer.from(genuine.body))),
    });
    const flip = (text: string) => text.slice(0, -1) + (text.endsWith('0') ? '1' : '0');
    const parsed = (body: Buffer) => JSON.parse(body.toString()) as Record<string, unknown>;
    const refusal = (status: number, error: string) => `${status} {"error":"${error}"}`;
    const SIGNATURE = refusal(401, 'invalid_signature');
    const HEADERS = refusal(401, 'malformed_headers');
    const SUITE = refusal(401, 'unsupported_suite');
    const TYPE = refusal(401, 'unsupported_media_type');

    it.each<[what: string, tampered: () => RawRequest, answer: string]>([
      ['another suite', () => withHeader('X-Service-Signature-Suite', () => ['service-webhook-v2']), SUITE],
      [
        'the suite in capitals',
        () => withHeader('X-Service-Signature-Suite', (is) => [is.toUpperCase()]),
        SUITE,
      ],
      ['no suite', () => withHeader('X-Service-Signature-Suite', () => []), SUITE],
      ['another signature', () => withHeader('X-Service-Signature-256', (is) => [flip(is)]), SIGNATURE],
      [
        'a shorter signature',
        () => withHeader('X-Service-Signature-256', (is) => [is.slice(0, -2)]),
        SIGNATURE,
      ],
      ['a bare signature', () => withHeader('X-Service-Signature-256', (is) => [is.slice(7)]), SIGNATURE],
      ['an empty signature', () => withHeader('X-Service-Signature-256', () => ['sha256=']), SIGNATURE],
      ['no signature', () => withHeader('X-Service-Signature-256', () => []), SIGNATURE],
      ['a longer max-age', () => withHeader('X-Service-Signature-Max-Age', () => ['3600']), SIGNATURE],
      [
        'a max-age that is no number',
        () => withHeader('X-Service-Signature-Max-Age', () => ['inf']),
        HEADERS,
      ],
      ['no max-age', () => withHeader('X-Service-Signature-Max-Age', () => []), HEADERS],
      [
        'a later timestamp',
        () => withHeader('X-Service-Timestamp', (is) => [`${Number(is) + 1}`]),
        SIGNATURE,
      ],
      [
        'the same timestamp otherwise',
        () => withHeader('X-Service-Timestamp', (is) => [`0${is}`]),
        SIGNATURE,
      ],
      ['a negative timestamp', () => withHeader('X-Service-Timestamp', (is) => [`-${is}`]), HEADERS],
      ['no timestamp', () => withHeader('X-Service-Timestamp', () => []), HEADERS],
      ['another event type', () => withHeader('X-Service-Event', () => ['auth.logout']), SIGNATURE],
      ['no event type', () => withHeader('X-Service-Event', () => []), HEADERS],
      ['another delivery id', () => withHeader('X-Service-Delivery', () => [randomUUID()]), SIGNATURE],
      ['no delivery id', () => withHeader('X-Service-Delivery', () => []), HEADERS],
      ['a plain text', () => withHeader('Content-Type', () => ['text/plain']), TYPE],
      ['a form', () => withHeader('Content-Type', () => ['application/x-www-form-urlencoded']), TYPE],
      ['JSON of another kind', () => withHeader('Content-Type', () => ['application/json-seq']), TYPE],
      ['no content type', () => withHeader('Content-Type', () => []), TYPE],
      [
        'the JSON serialised anew',
        () => withBody((body) => JSON.stringify(parsed(body), null, 1)),
        SIGNATURE,
      ],
      [
        'the members in another order',
        () => withBody((body) => JSON.stringify(Object.fromEntries(Object.entries(parsed(body)).reverse()))),
        SIGNATURE,
      ],
      ['a byte more', () => withBody((body) => `${body}\n`), SIGNATURE],
      ['a byte less', () => withBody((body) => body.subarray(0, -1)), SIGNATURE],
      ['a byte order mark', () => withBody((body) => `\ufeff${body}`), SIGNATURE],
      ['no body', () => withBody(() => ''), SIGNATURE],
      ['a line moved from the body', () => withBody((body) => `\n${body}`), SIGNATURE],
    ])('is refused with %s', async (_what, tampered, answer) => {
      expect((await sendToBoth(tampered())).answer).toBe(answer);
    });

    it.each(['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])('is refused by %s', async (method) => {
      const { answer, allow } = await sendToBoth({ ...genuine, method, body: new Uint8Array() });
      expect(answer).toBe(method === 'HEAD' ? '405 ' : refusal(405, 'method_not_allowed'));
      expect(allow).toEqual(['POST', 'POST']);
    });

    it('is refused with any of its bytes flipped', async () => {
      const { length } = genuine.body;
      for (let at = 0; at < length; at += Math.ceil(length / 40)) {
        const flipped = withBody((body) => body.fill((body[at] ?? 0) ^ 1, at, at + 1));
        expect([at, (await sendToBoth(flipped)).answer]).toEqual([at, SIGNATURE]);
      }
    });

    it('is refused with any of its headers there twice', async () => {
      for (const name of ['-Suite', '-256', '-Max-Age']
        .map((end) => `X-Service-Signature${end}`)
        .concat(['X-Service-Timestamp', 'X-Service-Event', 'X-Service-Delivery'])) {
        const doubled = withHeader(name, (value) => [value, value]);
        for (const port of [python.port, ours.port]) {
          expect([name, (await sendRaw(port, doubled)).status]).toEqual([name, expect.toBeOneOf([400, 401])]);
        }
      }
    });

    it('is accepted untouched after all that, and only once', async () => {
      const before = python.records.length;
      expect((await sendToBoth(genuine)).answer).toBe('200 {"status":"processed"}');
      expect((await sendToBoth(genuine)).answer).toBe('200 {"status":"ignored"}');
      await told(before + 1, python.records, () => true);
    });
  });

  describe('a delivery by our sender', () => {
    const local = startLocalSender();
    afterAll(() => local.close());

    it.each([
      ['nearly as old as the window', -280, 'delivered', 'processed'],
      ['older than the window', -305, 'retry', 'stale_timestamp'],
      ['from a clock that is a little ahead', 50, 'delivered', 'processed'],
      ['from the future', 120, 'retry', 'future_timestamp'],
    ])('%s is judged by its age: %i s', async (_what, seconds, kind, said) => {
      for (const port of [python.port, ours.port]) {
        const attempt = attemptTo(`http://127.0.0.1:${port}/`, {
          secrets: { current: SECRET },
          deliveryId: randomUUID(),
          now: () => Date.now() + seconds * 1000,
        });
        const result = await local.sender.send(attempt);
        expect(result.outcome.kind).toBe(kind);
        expect(result.responseExcerpt).toContain(said);
      }
    });

    it('with a shorter max-age is stale sooner, and a longer one does not lift the receiver’s own ceiling', async () => {
      const aged = { maxAge: 3600, now: () => Date.now() - 310_000 };
      const young = { maxAge: 60, now: () => Date.now() - 70_000 };
      for (const port of [python.port, ours.port]) {
        const attempt = { ...attemptTo(`http://127.0.0.1:${port}/`), secrets: { current: SECRET } };
        for (const times of [aged, young])
          expect((await local.sender.send({ ...attempt, ...times })).responseExcerpt).toContain(
            'stale_timestamp',
          );
      }
    });

    it('signed with another secret is refused', async () => {
      for (const port of [python.port, ours.port]) {
        const attempt = attemptTo(`http://127.0.0.1:${port}/`, { secrets: { current: 'another secret' } });
        expect((await local.sender.send(attempt)).outcome).toMatchObject({
          kind: 'retry',
          statusCode: 401,
        });
      }
    });

    it('that is refused is told to the program, with what to check', async () => {
      const attempt = attemptTo(python.url, { secrets: { current: SECRET } });
      const late = { ...attempt, now: () => Date.now() - 400_000, deliveryId: randomUUID() };
      await local.sender.send(late);
      const [refusal] = await told(1, python.refusals, ({ delivery_id: id }) => id === late.deliveryId);
      expect(refusal).toMatchObject({ reason: 'stale_timestamp', status: 401, final: false });
      expect(refusal?.message).toContain('check the clock');
      expect(refusal?.skew_seconds).toBeGreaterThanOrEqual(400);
    });
  });
});

async function startOurs() {
  const options = { secrets: SECRET, log: createMemoryDeliveryLog(), handler: () => undefined };
  const receive = createExpressReceiver(options);
  const server = createServer((request, response) => void receive(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { port: (server.address() as AddressInfo).port, close: () => void server.close() };
}

async function subscribe(url: string): Promise<string> {
  const { subscription } = await engine.subscriptions.create(engine.context, {
    url,
    secret: SECRET,
    eventTypes: ['wallet.tx.signed'],
    retryPolicy: { delaysMs: [100, 100, 100, 100, 100] },
  });
  return subscription.id;
}
