// Holds the core of the receivers to the specification: the order of the rules, what is recorded before what, and every
// answer.
import { describe, expect, it, vi } from 'vitest';
import {
  createMemoryDeliveryLog,
  type DeliveryLog,
  type ReceivedDelivery,
  type ReceiverOptions,
  type RefusedDelivery,
  RejectDelivery,
  RetryLater,
  receive,
} from '../../../packages/receiver/src/index.ts';
import { classifyResponse } from '../../../src/platform/egress/outcome.ts';
import { SECRET, signedDelivery } from './delivery-request.ts';

function startReceiver(options: Partial<ReceiverOptions> = {}) {
  const handled: ReceivedDelivery[] = [];
  const errors: unknown[] = [];
  const refused: RefusedDelivery[] = [];
  const log = createMemoryDeliveryLog();
  const all: ReceiverOptions = {
    ...{ secrets: SECRET, log, onError: (error) => errors.push(error) },
    onRefused: (refusal) => void refused.push(refusal),
    handler: async (delivery) => {
      handled.push(delivery);
    },
    ...options,
  };
  const take = async (request: Parameters<typeof receive>[0]) => {
    const { status, headers, body } = await receive(request, all);
    return { status, headers, ...(JSON.parse(body) as { status?: string; error?: string }), answer: status };
  };
  return { handled, errors, refused, log, take };
}

function until() {
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

describe('a genuine delivery', () => {
  it('is handled with its parsed payload and raw bytes, recorded as processed, and answered with 200', async () => {
    const receiver = startReceiver();
    const delivery = signedDelivery();
    expect(await receiver.take(delivery)).toMatchObject({ answer: 200, status: 'processed' });
    expect(receiver.handled).toMatchObject([
      {
        deliveryId: delivery.deliveryId,
        eventType: 'auth.login.success',
        eventId: 'e-1',
        payload: { event_id: 'e-1', data: { text: 'grüße' } },
        body: delivery.body,
      },
    ]);
    expect(receiver.log.records()).toEqual([
      {
        delivery_id: delivery.deliveryId,
        event_type: 'auth.login.success',
        received_at: expect.any(Date),
        status: 'processed',
        event_id: 'e-1',
      },
    ]);
  });

  it('is recorded as accepted before its handler begins', async () => {
    const log = createMemoryDeliveryLog();
    const seen: unknown[] = [];
    const { take } = startReceiver({ log, handler: () => void seen.push(log.records()[0]?.status) });
    await take(signedDelivery());
    expect(seen).toEqual(['accepted']);
  });

  it('is run once however often it comes, and the repetitions are answered with 200', async () => {
    const receiver = startReceiver();
    const deliveryId = 'd-repeated';
    const now = Math.floor(Date.now() / 1000);
    await receiver.take(signedDelivery({ deliveryId, timestamp: now - 20 }));
    for (const timestamp of [now - 20, now - 10, now]) {
      const again = await receiver.take(signedDelivery({ deliveryId, timestamp }));
      expect(again).toMatchObject({ answer: 200, status: 'ignored' });
    }
    expect(receiver.handled).toHaveLength(1);
  });

  it('is not answered with 2xx while another attempt is still being handled', async () => {
    const { open, opened } = until();
    const { open: begin, opened: begun } = until();
    const handler = () => {
      begin();
      return opened;
    };
    const receiver = startReceiver({ handler });
    const delivery = signedDelivery();
    const first = receiver.take(delivery);
    // Signatures are verified in other threads: the second may be done sooner.
    await begun;
    const second = await receiver.take(delivery);
    expect(second).toMatchObject({ answer: 503, error: 'in_progress' });
    expect(second.headers['retry-after']).toBeUndefined();
    open();
    expect(await first).toMatchObject({ answer: 200, status: 'processed' });
    expect(await receiver.take(delivery)).toMatchObject({ answer: 200, status: 'ignored' });
  });

  it('is recorded as ignored when the handler says so', async () => {
    const receiver = startReceiver({ handler: () => 'ignored' as const });
    expect(await receiver.take(signedDelivery())).toMatchObject({ answer: 200, status: 'ignored' });
    expect(receiver.log.records()[0]?.status).toBe('ignored');
  });

  it('is accepted by the log alone where there is no handler', async () => {
    const receiver = startReceiver({ handler: undefined });
    const delivery = signedDelivery();
    expect(await receiver.take(delivery)).toMatchObject({ answer: 202, status: 'accepted' });
    expect(await receiver.take(delivery)).toMatchObject({ answer: 200, status: 'ignored' });
  });

  it('hands its raw bytes, and until when it can be replayed, to the log', async () => {
    const accepted: unknown[] = [];
    const log: DeliveryLog = {
      accept: async (...all) => {
        accepted.push(all);
        return 'accepted';
      },
      settle: async () => undefined,
    };
    const timestamp = Math.floor(Date.now() / 1000) + 50;
    const delivery = signedDelivery({ timestamp, maxAge: 120 });
    await startReceiver({ log }).take(delivery);
    const [[record, { body, replayableUntil }]] = accepted as [
      [unknown, { body: unknown; replayableUntil: Date }],
    ];
    expect(record).toMatchObject({ delivery_id: delivery.deliveryId, status: 'accepted' });
    expect(body).toEqual(delivery.body);
    // Dated ahead it stays good for longer than its window from now.
    expect(replayableUntil.getTime() / 1000).toBeGreaterThanOrEqual(timestamp + 120);
  });
});

describe('a secret that is rotated', () => {
  const overlapping = () => signedDelivery({ secrets: { current: 'old', next: 'new' } });

  it.each([
    ['the old one', 'old'],
    ['the new one, by the header of the next secret', 'new'],
    ['both', ['old', 'new']],
    ['a look-up', async () => ['new']],
  ])('is verified by a receiver that has %s', async (_what, secrets) => {
    expect((await startReceiver({ secrets }).take(overlapping())).answer).toBe(200);
  });

  it('does not let another secret in, nor a next signature over something else', async () => {
    expect(await startReceiver({ secrets: 'other' }).take(overlapping())).toMatchObject({ answer: 401 });
    const forged = overlapping();
    forged.headers['x-service-signature-256-next'] = `sha256=${'0'.repeat(64)}`;
    expect(await startReceiver({ secrets: 'new' }).take(forged)).toMatchObject({ answer: 401 });
  });
});

describe('a handler that fails', () => {
  it('is answered with 500, recorded as failed, reported, and run again for the next attempt', async () => {
    let runs = 0;
    const receiver = startReceiver({
      handler: () => {
        runs += 1;
        if (runs === 1) throw new Error('the database is away');
      },
    });
    const delivery = signedDelivery();
    expect(await receiver.take(delivery)).toMatchObject({ answer: 500, error: 'failed' });
    expect(receiver.log.records()[0]?.status).toBe('failed');
    expect(receiver.errors).toMatchObject([{ message: 'the database is away' }]);
    expect(await receiver.take(delivery)).toMatchObject({ answer: 200, status: 'processed' });
    expect(runs).toBe(2);
  });

  it('may ask for a later attempt: of everything with 503, of this delivery alone with 500', async () => {
    const later = startReceiver({ handler: () => Promise.reject(new RetryLater(120)) });
    expect(await later.take(signedDelivery())).toMatchObject({
      answer: 503,
      headers: { 'retry-after': '120' },
    });
    const alone = startReceiver({
      handler: () => Promise.reject(new RetryLater(7, { onlyThisDelivery: true })),
    });
    expect(await alone.take(signedDelivery())).toMatchObject({
      answer: 500,
      headers: { 'retry-after': '7' },
    });
    expect(alone.errors).toEqual([]);
    for (const seconds of [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(() => new RetryLater(seconds)).toThrow(RangeError);
    }
  });

  it('may refuse for good', async () => {
    const receiver = startReceiver({ handler: () => Promise.reject(new RejectDelivery('no such order')) });
    expect(await receiver.take(signedDelivery())).toMatchObject({ answer: 422, error: 'rejected' });
    expect(receiver.log.records()[0]?.status).toBe('failed');
  });
});

describe('a log that fails', () => {
  const broken = (part: 'accept' | 'settle'): DeliveryLog => ({
    ...createMemoryDeliveryLog(),
    [part]: () => Promise.reject(new Error('disk full')),
  });

  it('keeps the handler from running when nothing can be recorded', async () => {
    const receiver = startReceiver({ log: broken('accept') });
    expect(await receiver.take(signedDelivery())).toMatchObject({ answer: 500 });
    expect(receiver.handled).toEqual([]);
    expect(receiver.errors).toMatchObject([{ message: 'disk full' }]);
  });

  it('does not undo what the handler has done', async () => {
    const receiver = startReceiver({ log: broken('settle') });
    expect(await receiver.take(signedDelivery())).toMatchObject({ answer: 200, status: 'processed' });
    expect(receiver.errors).toMatchObject([{ message: 'disk full' }]);
  });

  it('is told apart from a look-up of the secrets that fails', async () => {
    const receiver = startReceiver({ secrets: () => Promise.reject(new Error('no vault')) });
    expect(await receiver.take(signedDelivery())).toMatchObject({ answer: 500 });
    expect(receiver.errors).toMatchObject([{ message: 'no vault' }]);
  });
});

describe('a refusal', () => {
  const now = () => Math.floor(Date.now() / 1000);
  const genuine = () => signedDelivery();
  const without = (name: string) => {
    const { headers, ...rest } = genuine();
    return { ...rest, headers: Object.fromEntries(Object.entries(headers).filter(([key]) => key !== name)) };
  };

  it.each<[string, Parameters<typeof receive>[0], number, string]>([
    ['GET', { ...genuine(), method: 'GET' }, 405, 'method_not_allowed'],
    ['PUT', { ...genuine(), method: 'PUT' }, 405, 'method_not_allowed'],
    ['no content type', without('content-type'), 401, 'unsupported_media_type'],
    ['no suite', without('x-service-signature-suite'), 401, 'unsupported_suite'],
    ['no delivery id', without('x-service-delivery'), 401, 'malformed_headers'],
    ['no signature', without('x-service-signature-256'), 401, 'invalid_signature'],
    ['another body', { ...genuine(), body: new Uint8Array([123, 125]) }, 401, 'invalid_signature'],
    ['an old delivery', signedDelivery({ timestamp: now() - 400 }), 401, 'stale_timestamp'],
    ['a delivery of tomorrow', signedDelivery({ timestamp: now() + 400 }), 401, 'future_timestamp'],
    ['a signed body that is not JSON', signedDelivery({ body: '{' }), 400, 'malformed_body'],
    [
      'a signed body that is not UTF-8',
      signedDelivery({ body: new Uint8Array([34, 255, 34]) }),
      400,
      'malformed_body',
    ],
    ['a body beyond the limit', signedDelivery({ body: `"${'x'.repeat(300_000)}"` }), 401, 'body_too_large'],
  ])('of %s leaves no record and runs nothing', async (_what, request, status, error) => {
    const receiver = startReceiver();
    const answer = await receiver.take(request);
    expect(answer).toMatchObject({ answer: status, error });
    expect(answer.headers.allow).toBe(status === 405 ? 'POST' : undefined);
    expect(receiver.handled).toEqual([]);
    expect(receiver.log.records()).toEqual([]);
    // Only what the signature vouches for can be at fault itself; all else may be the set-up, and must come again.
    const final = error === 'malformed_body';
    expect(receiver.refused).toMatchObject([{ reason: error, status, final }]);
    expect(classifyResponse(status).kind).toBe(final ? 'rejected' : 'retry');
  });

  it('by a set-up fault is not final, and says which and how far the clock is off', async () => {
    const now = () => 1_700_000_400_000;
    const signed = signedDelivery({ timestamp: 1_700_000_000, deliveryId: 'd-late' });
    const receiver = startReceiver({ now });
    await receiver.take(signed);
    await receiver.take({ ...signed, headers: { ...signed.headers, 'x-service-delivery': 'd\u009b31m' } });
    expect(receiver.refused).toEqual([
      {
        ...{ reason: 'stale_timestamp', status: 401, final: false, skewSeconds: 400 },
        ...{
          deliveryId: 'd-late',
          eventType: 'auth.login.success',
          message: expect.stringContaining('clock'),
        },
      },
      expect.objectContaining({ reason: 'invalid_signature', deliveryId: undefined }),
    ]);
  });

  it('is answered although onRefused throws', async () => {
    const onRefused = () => {
      throw new Error('no room');
    };
    const receiver = startReceiver({ secrets: 'another', onRefused });
    expect(await receiver.take(genuine())).toMatchObject({ answer: 401, error: 'invalid_signature' });
    expect(receiver.errors).toMatchObject([{ message: 'no room' }]);
  });

  it('is a warning by default, one a minute for each reason however many come', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() });
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined);
    try {
      // Other cases of this process may have warned within the minute.
      vi.setSystemTime(Date.now() + 3_600_000);
      const { take } = startReceiver({ secrets: 'another', onRefused: undefined });
      const delivery = { ...genuine(), deliveryId: 'd-1' };
      delivery.headers['x-service-delivery'] = 'd-1';
      for (let count = 0; count < 100; count++) await take(delivery);
      await take({ ...delivery, method: 'GET' });
      vi.setSystemTime(Date.now() + 61_000);
      await take(delivery);
      const lines = warn.mock.calls.map(([line]) => String(line));
      expect(lines).toHaveLength(3);
      expect(lines[0]).toMatch(/^Refused delivery d-1: 401 invalid_signature; .*secret of this subscription/);
      expect(lines[0]).toContain('The service sends it again.');
      expect(lines[1]).toMatch(/405 method_not_allowed/);
      expect(lines[2]).toMatch(/\(99 more since the last line\.\)$/);
    } finally {
      warn.mockRestore();
      vi.useRealTimers();
    }
  });

  it.each([
    [-3_599, 'Its time is 3599 s ahead of this clock.'],
    [400, 'By this clock it was signed 400 s ago.'],
  ])('by a clock that is off by %i s says on which side', async (skew, words) => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() });
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined);
    try {
      // Other cases of this process may have warned within the minute; the difference is told in whole seconds.
      const seconds = Math.floor(Date.now() / 1000) + 7_200;
      vi.setSystemTime(seconds * 1000);
      const timestamp = seconds - skew;
      const { take } = startReceiver({ onRefused: undefined });
      await take(signedDelivery({ timestamp, deliveryId: 'd-2' }));
      expect(String(warn.mock.calls[0]?.[0])).toContain(words);
    } finally {
      warn.mockRestore();
      vi.useRealTimers();
    }
  });

  it('by the headers alone reads no body', async () => {
    const { take } = startReceiver();
    const body = () => Promise.reject(new Error('was read'));
    for (const request of [
      { ...genuine(), method: 'DELETE' },
      without('content-type'),
      without('x-service-event'),
    ]) {
      expect((await take({ ...request, body })).error).not.toBe('incomplete_body');
    }
    expect(await take({ ...genuine(), body })).toMatchObject({ answer: 408, error: 'incomplete_body' });
  });

  it.each([
    ['text', '{}'],
    ['a reader that gives text', async () => '{}'],
    ['a parsed body', { event_id: 'e-1' }],
    ['nothing', null],
  ])('is no answer to a program that gives %s for bytes', async (_what, body) => {
    const { take, refused } = startReceiver();
    const request = { ...genuine(), body: body as unknown as Uint8Array };
    await expect(take(request)).rejects.toThrow(/^body: .*bytes/);
    await expect(take(request)).rejects.toThrow(TypeError);
    expect(refused).toEqual([]);
  });

  it('tells the id and the clock, whatever the case of the names', async () => {
    const { headers, ...rest } = signedDelivery({ timestamp: now() - 400, deliveryId: 'd-late' });
    const named = Object.entries(headers).map(([name, value]) => [name.toUpperCase(), [value]]);
    const receiver = startReceiver();
    await receiver.take({ ...rest, headers: Object.fromEntries(named) });
    expect(receiver.refused).toMatchObject([{ reason: 'stale_timestamp', deliveryId: 'd-late' }]);
    expect(receiver.refused[0]?.skewSeconds).toBeGreaterThanOrEqual(400);
  });

  it('cannot be had for want of a secret', async () => {
    for (const secrets of ['', [], ['a', ''], undefined as unknown as string]) {
      await expect(startReceiver({ secrets }).take(genuine())).rejects.toThrow('secret of the subscription');
    }
  });
});

describe('a payload', () => {
  it.each([
    ['no event_id', '{}'],
    ['an event_id that is no text', '{"event_id":7}'],
    ['an array', '[]'],
    ['null', 'null'],
  ])('with %s is recorded without one', async (_what, body) => {
    const receiver = startReceiver();
    expect((await receiver.take(signedDelivery({ body }))).answer).toBe(200);
    expect(receiver.log.records()[0]).not.toHaveProperty('event_id');
  });
});
