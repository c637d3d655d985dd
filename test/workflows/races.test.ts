// Every step by hand against every automatic one: whichever comes first, there is one outcome. What a cell allows
// besides it is what the order of two things at the same moment decides.
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createEngine, type DeliveryEngine, eventually } from './delivery-engine.ts';

const ACTIONS = [
  'retry',
  'cancel',
  'replay',
  'bulk replay',
  'deactivate',
  'delete',
  'put url',
  'put types',
] as const;
type Action = (typeof ACTIONS)[number];

/** `status attempts`, as an API client sees it once nothing moves any more. `replay`: canceled and then retried. */
const OUTCOMES = {
  'an attempt under way that ends 200': {
    retry: ['delivered 1'],
    cancel: ['delivered 1'],
    replay: ['delivered 2'],
    'bulk replay': ['delivered 1'],
    deactivate: ['delivered 1'],
    delete: ['delivered 1'],
    'put url': ['delivered 1'],
    'put types': ['delivered 1'],
  },
  'an attempt under way that ends 500': {
    retry: ['delivered 2'],
    cancel: ['canceled 1'],
    replay: ['delivered 2'],
    'bulk replay': ['delivered 2'],
    deactivate: ['retrying 1'],
    delete: ['canceled 1'],
    'put url': ['delivered 2'],
    'put types': ['delivered 2'],
  },
  'an attempt under way that ends 410': {
    // The endpoint is gone, so the subscription is deactivated, and what somebody still wants waits.
    retry: ['retrying 1'],
    cancel: ['canceled 1'],
    replay: ['delivered 2'],
    'bulk replay': ['failed 1'],
    deactivate: ['failed 1'],
    delete: ['canceled 1'],
    'put url': ['delivered 2'],
    'put types': ['failed 1'],
  },
  'a timer that fires': {
    retry: ['delivered 2'],
    cancel: ['canceled 1', 'delivered 2'],
    // A second POST may be under way when it is canceled, and the replay makes a third.
    replay: ['delivered 2', 'delivered 3'],
    'bulk replay': ['delivered 2'],
    deactivate: ['retrying 1', 'delivered 2'],
    delete: ['canceled 1', 'delivered 2'],
    'put url': ['delivered 2'],
    'put types': ['delivered 2'],
  },
  'a delivery parked at a held endpoint': {
    retry: ['delivered 2'],
    cancel: ['canceled 1'],
    replay: ['delivered 2'],
    'bulk replay': ['delivered 2'],
    deactivate: ['retrying 1'],
    delete: ['canceled 1'],
    'put url': ['delivered 2'],
    'put types': ['retrying 1'],
  },
  'a delivery that has failed for good': {
    retry: ['delivered 2'],
    cancel: ['failed 1'],
    replay: ['delivered 2'],
    'bulk replay': ['delivered 2'],
    deactivate: ['failed 1'],
    delete: ['failed 1'],
    'put url': ['failed 1'],
    'put types': ['failed 1'],
  },
} as const satisfies Record<string, Record<Action, readonly string[]>>;

type Situation = keyof typeof OUTCOMES;

/** Milliseconds of the schedule; jitter adds up to a fifth. */
const DELAY = 400;

describe('what races with a delivery', () => {
  let engine: DeliveryEngine;
  beforeAll(async () => {
    engine = await createEngine();
    await engine.startProcess();
    engine.startRunner();
  });
  afterAll(() => engine?.close());

  const attemptsIs = (delivery: string, count: number) =>
    eventually(async () => (await engine.delivery(delivery)).attempt_count === count, `${count} attempts`);

  /** Brings a delivery into the situation. @returns it, and how to let go of an attempt that is under way */
  const bring = async (situation: Situation) => {
    const exhausts = situation === 'a delivery that has failed for good';
    const one = await engine.subscribe({ delaysMs: exhausts ? [] : [DELAY] });
    const under = /ends (\d+)/.exec(situation)?.[1];
    let release: () => void = () => undefined;
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    engine.receiver.answer(one.path, async (_, count) => {
      if (count > 1) return { status: 204 };
      if (under === undefined) return { status: 500 };
      await released;
      return { status: Number(under) };
    });
    const [delivery = ''] = await engine.publish(one.id);
    if (under !== undefined)
      await eventually(() => engine.receiver.of(one.path).length >= 1, 'the attempt to be under way');
    else await attemptsIs(delivery, 1);
    if (situation === 'a timer that fires') {
      const { next_attempt_at: due } = await engine.delivery(delivery);
      await sleep(Math.max(0, (due?.getTime() ?? 0) - Date.now() - 5));
    }
    if (situation === 'a delivery parked at a held endpoint') {
      await engine.database.query(
        "UPDATE endpoints SET state = 'held', hold_until = now() + interval '1 hour', epoch = epoch + 1 WHERE subscription_id = $1",
        [one.id],
      );
      await eventually(
        async () => (await engine.delivery(delivery)).waiting_epoch !== null,
        'it to be parked',
      );
    }
    if (exhausts) await engine.ended(delivery);
    return { ...one, delivery, release };
  };

  const perform = async (
    action: Action,
    { id, delivery }: { id: string; delivery: string },
    elsewhere: string,
  ): Promise<unknown> => {
    const { context, deliveries, subscriptions, bulkReplays } = engine;
    const ignoreConflict = (error: { code?: string }) => {
      if (error.code !== 'conflict') throw error;
    };
    if (action === 'retry') return deliveries.retry(context, delivery);
    if (action === 'cancel') return deliveries.cancel(context, delivery).catch(ignoreConflict);
    if (action === 'deactivate') return subscriptions.update(context, id, { active: false });
    if (action === 'delete') return subscriptions.remove(context, id);
    if (action === 'put url')
      return subscriptions.update(context, id, { url: engine.receiver.url + elsewhere });
    if (action === 'put types') return subscriptions.update(context, id, { eventTypes: ['another.type'] });
    if (action === 'bulk replay')
      return bulkReplays.begin(context, id, { since: new Date(0), status: 'failed' });
    await deliveries.cancel(context, delivery).catch(ignoreConflict);
    return deliveries.retry(context, delivery);
  };

  const shownOf = async (delivery: string) => {
    const { status, attempts } = await engine.deliveries.get(engine.context, delivery);
    return `${status} ${attempts.length}`;
  };

  const cells = Object.entries(OUTCOMES).flatMap(([situation, row]) =>
    ACTIONS.map((action) => [action, situation as Situation, row[action] as readonly string[]] as const),
  );

  it.concurrent.each(cells)('%s meets %s: %j', async (action, situation, outcomes) => {
    const elsewhere = `/${randomUUID()}`;
    const one = await bring(situation);
    await perform(action, one, elsewhere);
    if (action === 'replay' && situation.startsWith('an attempt'))
      await eventually(() => engine.receiver.of(one.path).length >= 2, 'the replay');
    one.release();
    await eventually(async () => outcomes.includes(await shownOf(one.delivery)), `one of ${outcomes.join()}`);
    await engine.quiet(one.id, DELAY * 2);
    const end = await shownOf(one.delivery);
    expect(outcomes).toContain(end);
    const posts = engine.receiver.of(one.path).length + engine.receiver.of(elsewhere).length;
    expect(`${end.split(' ')[0]} ${posts}`).toBe(end);
    if (
      action === 'put url' &&
      outcomes.length === 1 &&
      end === 'delivered 2' &&
      situation !== 'a timer that fires'
    )
      expect(engine.receiver.of(elsewhere)).toHaveLength(1);
    const { endpoint, active } =
      action === 'delete'
        ? { endpoint: undefined, active: false }
        : await engine.subscriptions.get(engine.context, one.id);
    // A 410 of the URL that the subscription still has deactivates it, whatever becomes of the delivery.
    const gone = situation.endsWith('410') && action !== 'put url';
    expect(active).toBe(!gone && action !== 'deactivate' && action !== 'delete');
    if (end === 'delivered 2') expect(endpoint?.waiting ?? 0).toBe(0);
  });
});
