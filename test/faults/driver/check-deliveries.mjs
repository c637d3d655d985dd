// Compares the ledger with what the service says of events, deliveries and attempts when everything has drained.
import { matches } from './delivery-load.mjs';

/**
 * Milliseconds that a sender can have been stopped between its last look at a delivery and its POST: a freeze, a stall,
 * time-outs.
 */
const STOPPED = 30_000;
/** What a crash of Postgres may lose: records of successes that did not wait for the disk. */
const UNFLUSHED = 1_000;
/** A commit has its time before it is flushed to the disk, and is seen by others after that. */
const FLUSH = 500;

const DELIVERIES = `
SELECT id, event_id, subscription_id, status, attempt_count FROM deliveries WHERE event_type LIKE 'load.%'`;
const ATTEMPTS = `
SELECT delivery_id, n, outcome, status_code, retry_after_seconds, extract(epoch FROM started_at)::float8 * 1000 AS started,
  extract(epoch FROM pg_xact_commit_timestamp(xmin))::float8 * 1000 AS committed
FROM attempts ORDER BY delivery_id, n`;

/** @returns counts for the report; what is wrong goes to the ledger */
export async function checkDeliveries({ stack, ledger }) {
  const deliveries = await stack.query(DELIVERIES);
  const attempts = group(await stack.query(ATTEMPTS), 'delivery_id');
  const posts = group(ledger.posts, 'delivery');
  checkFanOut(ledger, deliveries);
  for (const delivery of deliveries) {
    const own = { delivery, rows: attempts.get(delivery.id) ?? [], posts: posts.get(delivery.id) ?? [] };
    checkNumbers(ledger, own);
    checkStates(ledger, own);
    checkAfterSwitch(ledger, own);
    if (ledger.replayed.has(delivery.id)) continue;
    checkAfterEnd(ledger, own);
    checkRetryAfter(ledger, own);
    noteClaims(ledger, own);
  }
  checkHolds(ledger, deliveries, attempts, posts);
  const known = new Set(deliveries.map(({ id }) => id));
  const isLost = (at) => ledger.lost.some(({ from, to }) => at > from && at < to);
  for (const { delivery, name, at } of ledger.posts)
    if (!known.has(delivery) && !isLost(at)) ledger.violate('unknown delivery', `${delivery} to ${name}`);
  const taken = ledger.posts.filter(({ status }) => status === 204);
  return {
    deliveries: tally(deliveries.map(({ status }) => status)),
    attempts: ledger.posts.length,
    duplicates: taken.length - new Set(taken.map(({ delivery }) => delivery)).size,
  };
}

export const tally = (list) => {
  const counts = {};
  for (const one of list) counts[one] = (counts[one] ?? 0) + 1;
  return counts;
};

export function group(list, key) {
  const groups = new Map();
  for (const one of list) groups.set(one[key], [...(groups.get(one[key]) ?? []), one]);
  return groups;
}

/** Every accepted event has one delivery at each subscription that matched it, and at no other. */
function checkFanOut(ledger, deliveries) {
  const byEvent = group(deliveries, 'event_id');
  const eventIds = new Map();
  for (const { eventId, marker } of ledger.posts)
    eventIds.set(marker, new Set([...(eventIds.get(marker) ?? []), eventId]));
  for (const publication of ledger.publications.values()) {
    const { marker, outcome, how, type, ids } = publication;
    for (const id of eventIds.get(marker) ?? []) if (!ledger.lostIds.has(id)) ids.add(id);
    if (outcome === 'refused' && ids.size > 0) ledger.violate('refused and delivered', marker);
    if (ids.size > 1) ledger.violate('accepted twice', `${marker} (${how}) is ${[...ids].join(' and ')}`);
    if (outcome !== 'accepted') continue;
    const made = [...ids].flatMap((id) => byEvent.get(id) ?? []);
    const places = new Set(made.map(({ subscription_id }) => subscription_id));
    if (places.size < made.length) ledger.violate('two deliveries', `of ${marker} at one subscription`);
    for (const subscription of ledger.subscriptions.values()) {
      const had = places.has(subscription.id);
      const isMatch = matches(subscription.types, type);
      if (had && !isMatch) ledger.violate('wrong subscription', `${marker} at ${subscription.name}`);
      if (!had && isMatch && wasThere(subscription, publication))
        ledger.violate('lost', `${marker} (${how}) has no delivery at ${subscription.name}`);
    }
  }
}

/** The subscription was there for the whole time in which the event was accepted. */
const wasThere = ({ created, deleting = Number.POSITIVE_INFINITY }, { sent, answered }) =>
  created <= sent && answered <= deleting;

function checkNumbers(ledger, { delivery, rows }) {
  const numbers = rows.map(({ n }) => n);
  if (numbers.some((n, index) => n !== index + 1))
    ledger.violate('attempts not dense', `${delivery.id}: ${numbers}`);
  if (delivery.attempt_count !== rows.length)
    ledger.violate('attempts miscounted', `${delivery.id}: ${delivery.attempt_count} of ${rows.length}`);
}

/** One end, and the end that the receiver's answers say. */
function checkStates(ledger, { delivery, rows, posts }) {
  const { id, status } = delivery;
  const taken = posts.some((post) => post.status === 204);
  const outcomes = new Set(rows.map(({ outcome }) => outcome));
  if (status === 'delivered' && !taken) ledger.violate('delivered to nobody', id);
  if (outcomes.has('delivered') !== (status === 'delivered'))
    ledger.violate(
      'wrong state',
      `${id} is ${status}; its attempts are ${rows.map(({ outcome }) => outcome)}`,
    );
  const refused = posts.some((post) => [400, 410, 422].includes(post.status));
  if (status === 'failed' && !refused && rows.length < 20)
    ledger.violate('failed too early', `${id}: ${rows.length} attempts`);
}

/** No attempt begins after the success or the cancellation that a client knows of. */
function checkAfterEnd(ledger, { delivery, rows, posts }) {
  const told = ledger.ends.get(delivery.id);
  const success = rows.find(({ outcome }) => outcome === 'delivered');
  const ends = [told?.at, success?.committed].filter((at) => at !== undefined && !isUnflushed(ledger, at));
  if (ends.length === 0) return;
  const end = Math.min(...ends);
  for (const row of rows)
    if (row.started > end + 1) ledger.violate('attempt after the end', describe(delivery, row, end));
  for (const post of posts)
    if (post.signedAt > end + STOPPED) ledger.violate('POST after the end', describe(delivery, post, end));
}

/** The same as a history: the end is an operation, and each attempt another. */
function noteClaims(ledger, { delivery, rows, posts }) {
  const told = ledger.ends.get(delivery.id);
  if (told === undefined || posts.length === 0 || isUnflushed(ledger, told.at)) return;
  ledger.noteOperation('claims', delivery.id, {
    call: posts[0].at,
    end: told.at,
    input: 'end',
    output: told.status,
  });
  for (const { at, signedAt } of posts) {
    const row = rows.findLast(({ started }) => started <= at);
    const call = Math.min(at, row?.started ?? signedAt - STOPPED);
    ledger.noteOperation('claims', delivery.id, { call, end: at, input: 'begin', output: 'begun' });
  }
}

/** No attempt begins while its subscription is switched off or held, or after it was deleted. */
function checkAfterSwitch(ledger, { delivery, rows, posts }) {
  const { offs = [], deleted } = ledger.subscriptions.get(delivery.subscription_id) ?? {};
  const closed = [...offs, ...ledger.holds, ...(deleted === undefined ? [] : [{ from: deleted }])];
  for (const { from, to = Number.POSITIVE_INFINITY } of closed) {
    for (const row of rows)
      if (row.started > from + 1 && row.started < to)
        ledger.violate('attempt while off', describe(delivery, row, from));
    for (const post of posts)
      if (post.signedAt > from + STOPPED && post.at < to)
        ledger.violate('POST while off', describe(delivery, post, from));
  }
}

/** The next attempt does not arrive before the time that a recorded answer has asked for. */
function checkRetryAfter(ledger, { delivery, rows, posts }) {
  const kept = rows.filter((row) => row.retry_after_seconds !== null && !isUnflushed(ledger, row.committed));
  for (const row of kept) {
    const asked = posts.find(
      ({ at, retryAfter, answered }) => retryAfter && answered && at >= row.started - 1,
    );
    if (asked === undefined) continue;
    const floor = asked.answered + asked.retryAfter * 1_000;
    const early = rows.find(
      ({ n, started }) => n > row.n && started > row.committed + FLUSH && started < floor,
    );
    const arrived = early && posts.find(({ at }) => at > asked.at && at < floor);
    if (arrived) ledger.violate('Retry-After undercut', describe(delivery, arrived, floor));
  }
}

/** After a recorded 429 no delivery of its endpoint is attempted before the time that it has asked for. */
function checkHolds(ledger, deliveries, attempts, posts) {
  for (const [subscription, own] of group(deliveries, 'subscription_id')) {
    const byHand = ledger.openedByHand.get(subscription) ?? Number.POSITIVE_INFINITY;
    const rows = own.flatMap(({ id }) => attempts.get(id) ?? []);
    for (const row of rows.filter(({ status_code }) => status_code === 429)) {
      const asked = posts
        .get(row.delivery_id)
        ?.find(({ at, status }) => status === 429 && at >= row.started - 1);
      if (asked?.answered === undefined || isUnflushed(ledger, row.committed)) continue;
      const floor = asked.answered + asked.retryAfter * 1_000;
      const early = rows.find(
        ({ started, delivery_id }) =>
          started > row.committed + FLUSH &&
          started < Math.min(floor, byHand) &&
          !ledger.replayed.has(delivery_id),
      );
      if (early) ledger.violate('hold undercut', describe({ id: early.delivery_id }, early, floor));
    }
  }
}

const isUnflushed = (ledger, at) => ledger.crashes.some(({ from, to }) => at <= to && at > from - UNFLUSHED);

const describe = ({ id }, what, end) =>
  `${id}: ${JSON.stringify(what)}, ${((what.started ?? what.at) - end).toFixed(0)} ms after`;
