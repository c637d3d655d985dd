// Retry-After, seen by the clock of the receiver that sends it: neither the delivery that met it nor, on 429 and 503,
// any other of its subscription comes a millisecond too early.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createEngine, type DeliveryEngine, eventually } from '../../workflows/delivery-engine.ts';

const SECOND = 1_000;
const DAY = 24 * 3_600 * SECOND;

/** Seconds to wait for, long enough that publishing the others comes before the end also on a loaded machine. */
const WAIT = 4;

const at = (milliseconds: number) => new Date(Math.ceil(milliseconds / SECOND) * SECOND);
const imf = (date: Date) => date.toUTCString();
const rfc850 = (date: Date) => {
  const [, dd, mmm, yyyy = '', time] = date.toUTCString().replace(',', '').split(' ');
  const day = new Intl.DateTimeFormat('en', { weekday: 'long', timeZone: 'UTC' }).format(date);
  return `${day}, ${dd}-${mmm}-${yyyy.slice(2)} ${time} GMT`;
};
const asctime = (date: Date) => {
  const [day, , mmm, yyyy, time] = date.toUTCString().replace(',', '').split(' ');
  return `${day} ${mmm} ${String(date.getUTCDate()).padStart(2, ' ')} ${time} ${yyyy}`;
};

/** A value as a receiver makes it at a moment, and the moment before which it wants no request. */
type Form = { name: string; make: (now: number) => { value: string; floor: number } };
const seconds = (name: string, value: string): Form => ({
  name,
  make: (now) => ({ value, floor: now + WAIT * SECOND }),
});
const date = (name: string, write: (date: Date) => string): Form => ({
  name,
  make: (now) => {
    const until = at(now + WAIT * SECOND);
    return { value: write(until), floor: until.getTime() };
  },
});
const FORMS: Form[] = [
  seconds('seconds', `${WAIT}`),
  seconds('seconds with zeros before and blanks around', ` \t00${WAIT} `),
  date('an IMF-fixdate', imf),
  date('a date of RFC 850', rfc850),
  date('a date of asctime', asctime),
];

describe('Retry-After', () => {
  let engine: DeliveryEngine;
  beforeAll(async () => {
    engine = await createEngine();
    await engine.startProcess();
  });
  afterAll(() => engine.close());

  /** A subscription whose first request is answered so, and its first delivery after that answer. */
  const meet = async (status: number, make: Form['make'], delaysMs = [20, 20]) => {
    const { id, path } = await engine.subscribe({ delaysMs });
    let floor = 0;
    engine.receiver.answer(path, (_, count) => {
      if (count > 1) return { status: 204 };
      const made = make(Date.now());
      floor = made.floor;
      return { status, headers: { 'retry-after': made.value } };
    });
    const [first = ''] = await engine.publish(id);
    await eventually(async () => (await engine.delivery(first)).attempt_count >= 1, 'the first record');
    return { id, path, first, floor };
  };
  const endpointOf = async (id: string) => (await engine.endpoints.read(engine.database, [id])).get(id);

  it.concurrent.each([429, 503].flatMap((status) => FORMS.map((form) => [status, form.name, form] as const)))(
    'on %i as %s keeps all away until then, and costs the others no attempt',
    async (status, _name, form) => {
      const { id, path, first, floor } = await meet(status, form.make);
      const others = await engine.publish(id, 4);
      // A hold that is over is not shown any more.
      const hold = (await endpointOf(id))?.holdUntil?.getTime() ?? Date.now();
      expect(hold).toBeGreaterThanOrEqual(floor);
      for (const delivery of others) {
        expect(await engine.ended(delivery)).toMatchObject({ status: 'delivered', attempt_count: 1 });
      }
      expect(await engine.ended(first)).toMatchObject({ status: 'delivered', attempt_count: 2 });
      const later = engine.receiver.of(path).slice(1);
      expect(later).toHaveLength(5);
      expect(Math.min(...later.map((request) => request.at)) - floor).toBeGreaterThanOrEqual(0);
    },
  );

  it.concurrent.each([408, 425, 500, 502, 504, 301])(
    'on %i is a floor for the delivery that met it, and holds nobody else',
    async (status) => {
      const { id, path, first, floor } = await meet(status, (now) => ({
        value: '3600',
        floor: now + 3_600 * SECOND,
      }));
      expect(await endpointOf(id)).toMatchObject({ state: 'failing', holdUntil: null });
      const [other = ''] = await engine.publish(id);
      expect(await engine.ended(other)).toMatchObject({ status: 'delivered', attempt_count: 1 });
      await engine.quiet(id);
      expect(engine.receiver.of(path).map(({ deliveryId }) => deliveryId)).toEqual([first, other]);
      const next = (await engine.delivery(first)).next_attempt_at?.getTime() ?? 0;
      expect(next).toBeGreaterThanOrEqual(floor);
    },
  );

  it.concurrent.each(['0x10', 'inf', '-5', '0', 'Sun, 06 Nov 1994 08:49:37 GMT', 'tomorrow', ''])(
    'of %j holds nobody: the schedule goes on',
    async (value) => {
      const { id, first } = await meet(503, () => ({ value, floor: 0 }));
      expect(await endpointOf(id)).toMatchObject({ state: 'failing', holdUntil: null });
      expect(await engine.ended(first)).toMatchObject({ status: 'delivered', attempt_count: 2 });
    },
  );

  it.concurrent.each(['999999999999999999999999999999', '86401', 'Fri, 31 Dec 9999 23:59:59 GMT'])(
    'of %s is cut to a day',
    async (value) => {
      const sent = Date.now();
      const { id, first } = await meet(429, () => ({ value, floor: 0 }));
      const recorded = Date.now();
      const hold = (await endpointOf(id))?.holdUntil?.getTime() ?? 0;
      expect(hold).toBeGreaterThanOrEqual(sent + DAY);
      expect(hold).toBeLessThanOrEqual(recorded + DAY + 1);
      const next = (await engine.delivery(first)).next_attempt_at?.getTime() ?? 0;
      expect(next).toBeGreaterThanOrEqual(sent + DAY);
      expect(next).toBeLessThanOrEqual(recorded + 1.2 * DAY + 2);
      const [other = ''] = await engine.publish(id);
      await engine.quiet(id);
      expect((await engine.deliveries.get(engine.context, other)).status).toBe('held');
    },
  );

  it.concurrent('waits for the schedule where that is later than the hold', async () => {
    const { path, first, floor } = await meet(503, (now) => ({ value: '1', floor: now + 3 * SECOND }), [
      3 * SECOND,
    ]);
    expect(await engine.ended(first)).toMatchObject({ status: 'delivered', attempt_count: 2 });
    expect((engine.receiver.of(path)[1]?.at ?? 0) - floor).toBeGreaterThanOrEqual(0);
  });

  it.concurrent('is not shortened by a later, shorter one', async () => {
    const { id, path } = await engine.subscribe({ delaysMs: [20, 20, 20] });
    let floor = 0;
    engine.receiver.answer(path, async (_, count) => {
      if (count > 2) return { status: 204 };
      // Both are under way before either is answered.
      await eventually(() => engine.receiver.of(path).length >= 2, 'the second request');
      if (count === 1) {
        floor = Date.now() + 3_600 * SECOND;
        return { status: 503, headers: { 'retry-after': '3600' } };
      }
      await eventually(async () => (await endpointOf(id))?.state === 'held', 'the hold');
      return { status: 429, headers: { 'retry-after': '1' } };
    });
    const both = await engine.publish(id, 2);
    for (const delivery of both)
      await eventually(async () => (await engine.delivery(delivery)).attempt_count === 1, 'both records');
    await engine.quiet(id);
    expect(engine.receiver.of(path)).toHaveLength(2);
    expect((await endpointOf(id))?.holdUntil?.getTime()).toBeGreaterThanOrEqual(floor);
  });
});

describe('a wait in the database', () => {
  it('is never rounded down to the millisecond before', async () => {
    const engine = await createEngine();
    try {
      const { id } = await engine.subscribe({ active: false });
      const [delivery = ''] = await engine.publish(id);
      for (let round = 0; round < 30; round += 1) {
        const early = await engine.database.transaction({}, async (unit) => {
          const startedAt = new Date().toISOString();
          const failed = {
            deliveryId: delivery,
            startedAt,
            limited: false,
            probe: false,
            refused: false,
            error: 'http:503',
          };
          const holdMs = 1_000 * (round + 1);
          await engine.endpoints.noteFailures(unit, id, [{ ...failed, holdMs }]);
          const { rows } = await unit.query<{ early: boolean }>(
            `SELECT hold_until < now() + $2 * interval '1 millisecond' AS early FROM endpoints WHERE subscription_id = $1`,
            [id, holdMs],
          );
          return rows[0]?.early;
        });
        expect(early).toBe(false);
      }
    } finally {
      await engine.close();
    }
  });
});
