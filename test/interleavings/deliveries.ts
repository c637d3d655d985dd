// The scenario of deliveries that two relays claim and attempt, while people, the endpoint and lost leases change them.
import type { Outcome } from '../../src/platform/egress/outcome.ts';
import { createTenantContext } from '../webhooks/intake/fixture.ts';
import { DELIVERED, type DeliveryProcess, type Receiver } from './delivery-process.ts';
import type { Schedule, Unit } from './scheduler.ts';
import type { SeededRandom } from './seeded-random.ts';
import { type Scenario, type Stage, valueIn } from './stage.ts';

const OUTCOMES: readonly Outcome[] = [
  DELIVERED,
  DELIVERED,
  { kind: 'retry', statusCode: 500, errorClass: 'status', error: 'http:500', hold: false },
  {
    kind: 'retry',
    statusCode: 503,
    errorClass: 'status',
    error: 'http:503',
    hold: true,
    retryAfterMs: 600_000,
  },
  { kind: 'gone', statusCode: 410, errorClass: 'gone', error: 'http:410' },
  { kind: 'rejected', statusCode: 422, errorClass: 'rejected', error: 'http:422' },
];

/** `failing`: one more failure closes the endpoint. `probed`: it is down, and its probe is due. */
const ENDPOINTS = ['open', 'open', 'failing', 'probed', 'held', 'held before'] as const;

const CHANGES = [
  'cancel',
  'cancel another',
  'retry',
  'delete',
  'deactivate',
  'deactivate and activate',
  'hold the host',
  'lose the lease',
  'attempt by a workflow',
  'suspend the tenant',
  'publish more',
  'probe',
] as const;
type Change = (typeof CHANGES)[number];

const HISTORIES: Record<(typeof ENDPOINTS)[number], string> = {
  open: '',
  failing: `failures_in_a_row = 9, failing_since = now() - interval '1 minute',
    failing_deliveries = ARRAY[gen_random_uuid(), gen_random_uuid()]`,
  probed: `state = 'down', failures_in_a_row = 12, failing_since = now() - interval '1 minute', permits = 1, permits_at = now(),
    probe_at = now() - interval '1 s', epoch = epoch + 1, failing_deliveries = ARRAY[gen_random_uuid(), gen_random_uuid()]`,
  held: `state = 'held', hold_until = now() + interval '1 hour', permits = 1, permits_at = now(), epoch = epoch + 1`,
  'held before': `state = 'held', hold_until = now() - interval '1 s', permits = 1, permits_at = now(), epoch = epoch + 1`,
};

type Row = {
  readonly id: string;
  readonly status: string;
  readonly generation: number;
  readonly started: number | null;
  readonly counted: number;
  readonly attempts: number;
  readonly highest: number;
  readonly isSettled: boolean;
  readonly waits: boolean;
  readonly work: readonly string[];
  readonly claims: number;
};

const ROWS = `
SELECT d.id, d.status, d.generation, d.started_generation AS started, d.attempt_count AS counted,
  (SELECT count(*)::int FROM attempts a WHERE a.delivery_id = d.id) AS attempts,
  (SELECT coalesce(max(n), 0)::int FROM attempts a WHERE a.delivery_id = d.id) AS highest,
  d.completed_at IS NOT NULL AND d.next_attempt_at IS NULL AND d.waiting_epoch IS NULL AND NOT d.needs_workflow AS "isSettled",
  d.waiting_epoch IS NOT NULL AS waits,
  ARRAY(SELECT kind FROM outbox o WHERE o.delivery_id = d.id ORDER BY kind) AS work,
  (SELECT count(*)::int FROM outbox o WHERE o.delivery_id = d.id AND claimed_by IS NOT NULL) AS claims
FROM deliveries d WHERE d.subscription_id = $1 ORDER BY d.id`;

/** @param processes the delivering processes of the stage, and what their receivers note */
export const createDeliveries = (
  processes: readonly DeliveryProcess[],
  receivers: Map<string, Receiver>,
): Scenario => ({
  name: 'deliveries',
  refusals: ['conflict', 'not_found', 'subscription_inactive'],
  prepare: async (stage, random) => {
    const [one, two, three] = processes as [DeliveryProcess, DeliveryProcess, DeliveryProcess];
    const context = await createTenantContext(stage.read);
    const host = `${context.tenant.slug}.example`;
    const receiver: Receiver = { answers: Array.from({ length: 8 }, () => random.pick(OUTCOMES)), posts: [] };
    receivers.set(host, receiver);
    const { subscription } = await one.subscriptions.create(context, {
      url: `https://${host}/`,
      eventTypes: ['wallet.tx.signed'],
      retryPolicy: { delaysMs: [600_000, 600_000] },
    });
    const grant = { tenantId: context.tenant.id, endpoint: subscription.id };
    // In the order in which they are claimed.
    const ids = (await one.publish(context, subscription.id, 1 + random.below(3))).sort();
    const history = HISTORIES[random.pick(ENDPOINTS)];
    if (history !== '')
      await stage.read.query(`UPDATE endpoints SET ${history} WHERE subscription_id = $1`, [subscription.id]);
    const started = await startOne(stage, random, ids);
    const [relayOne, relayTwo] = [await one.register(), await two.register()];
    const ofRelays = [relayOne.instance, relayTwo.instance];
    await stage.read.query(
      "UPDATE relays SET seen_at = now() + interval '1 hour' WHERE instance = ANY ($1)",
      [ofRelays],
    );
    const any = ids.at(-1) ?? '';
    const acts: Record<Change, (process: DeliveryProcess) => Promise<unknown>> = {
      cancel: ({ deliveries }) => deliveries.cancel(context, ids[0] ?? ''),
      'cancel another': ({ deliveries }) => deliveries.cancel(context, any),
      retry: ({ deliveries }) => deliveries.retry(context, any),
      delete: ({ subscriptions }) => subscriptions.remove(context, subscription.id),
      deactivate: ({ subscriptions }) => subscriptions.update(context, subscription.id, { active: false }),
      'deactivate and activate': async ({ subscriptions }) => {
        await subscriptions.update(context, subscription.id, { active: false });
        return subscriptions.update(context, subscription.id, { active: true });
      },
      'hold the host': ({ database, hostHolds }) =>
        database.transaction({}, (unit) =>
          hostHolds.hold(unit, host, { length: 'released', reason: 'test', operator: 'jo' }),
        ),
      'lose the lease': async (process) => {
        await process.database.query(
          "UPDATE relays SET seen_at = now() - interval '1 minute' WHERE instance = $1",
          [relayOne.instance],
        );
        return process.takeOver();
      },
      'attempt by a workflow': ({ attempts }) =>
        started === undefined
          ? Promise.resolve()
          : attempts.send({ deliveryId: started, generation: 0, n: 1 }, { workflow: true }),
      'suspend the tenant': ({ database, endpoints }) =>
        database.transaction({}, (unit) => endpoints.setTenantHeld(unit, context.tenant.id, true)),
      'publish more': (process) => process.publish(context, subscription.id, 1),
      probe: ({ subscriptions }) => subscriptions.probe(context, subscription.id),
    };
    const changes = random.some(CHANGES, 1 + random.below(2));
    const others = [three, processes[3] ?? three];
    const units: Unit[] = [
      { name: 'relay one', process: 0, act: () => one.relay(relayOne, grant) },
      { name: 'relay two', process: 1, act: () => two.relay(relayTwo, grant) },
      ...changes.map((name, n) => ({ name, process: 2 + n, act: () => acts[name](others[n] ?? three) })),
    ];
    return {
      units,
      check: (schedule) => check(stage, schedule, { endpoint: subscription.id, receiver }),
    };
  },
});

/** One of the deliveries may be with its workflow already. @returns its id */
async function startOne(
  stage: Stage,
  random: SeededRandom,
  ids: readonly string[],
): Promise<string | undefined> {
  const [id] = ids;
  if (!random.chance(0.5)) return undefined;
  await stage.read.query('DELETE FROM outbox WHERE delivery_id = $1', [id]);
  await stage.read.query('UPDATE deliveries SET started_generation = 0 WHERE id = $1', [id]);
  return id;
}

async function check(
  stage: Stage,
  schedule: Schedule,
  { endpoint, receiver }: { endpoint: string; receiver: Receiver },
): Promise<string[]> {
  const { rows } = await stage.read.query<Row>(ROWS, [endpoint]);
  const { ends, faulted } = schedule;
  const canceled = ['cancel', 'cancel another'].map((name) => valueIn<{ id: string }>(schedule, name)?.id);
  const repeats = ['retry', 'lose the lease'].some((name) => ends.has(name)) || faulted !== undefined;
  const isSure = faulted === undefined && !ends.has('lose the lease');
  return rows.flatMap((row) => {
    const posts = receiver.posts.filter((id) => id === row.id).length;
    const isEnded = ['delivered', 'failed', 'canceled'].includes(row.status);
    const isOwned = row.started === row.generation || row.work.some((kind) => kind !== 'command');
    const faults = {
      'attempts are not dense': row.attempts !== row.highest || row.counted !== row.highest,
      'a POST is not recorded': isSure && posts !== row.attempts,
      'more attempts than POSTs': row.attempts > posts,
      'it was sent twice': !repeats && posts > 1,
      'it ended and goes on': isEnded !== row.isSettled,
      'it was canceled and goes on':
        canceled.includes(row.id) && !ends.has('retry') && !['canceled', 'delivered'].includes(row.status),
      'nobody owns it': !isEnded && !isOwned,
      'it waits and nothing wakes it': row.waits && !row.work.includes('wake'),
      'two rows of one kind': new Set(row.work).size !== row.work.length && !ends.has('retry'),
      'a claim is left': isSure && row.claims > 0,
    };
    return Object.entries(faults).flatMap(([fault, isSo]) =>
      isSo ? [`${fault}: ${JSON.stringify({ ...row, posts })}`] : [],
    );
  });
}
