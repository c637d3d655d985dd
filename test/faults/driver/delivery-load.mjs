// What publishers, owners of subscriptions and operators do while things fail: events of every kind, pauses, deletions,
// cancellations.
import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { now } from './ledger.mjs';
import { createRandom } from './random.mjs';

/** Receiver kind → its event types: each type has several subscriptions. */
const STANDING = [
  ['steady1', 'steady', ['load.a.one', 'load.a.two', 'load.a.three']],
  ['steady2', 'steady', ['load.a.*']],
  ['flaky', 'flaky', ['load.a.one', 'load.b.two']],
  ['busy', 'busy', ['load.b.*']],
  ['choosy', 'choosy', ['load.a.two']],
  ['slow', 'slow', ['load.b.one']],
  ['gone', 'gone', ['load.a.three']],
  ['stubborn', 'stubborn', ['load.c.one']],
  ['paused', 'steady', ['load.a.one', 'load.b.two']],
];
const TYPES = ['load.a.one', 'load.a.two', 'load.a.three', 'load.b.one', 'load.b.two', 'load.c.one'];
const DELAYS = [1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5];

/** The pause between two publications when the planned seconds are over, as a multiple. */
const AFTER_PLAN = 10;

export const matches = (patterns, type) =>
  patterns.some((pattern) =>
    pattern.endsWith('.*') ? type.startsWith(pattern.slice(0, -1)) : pattern === type,
  );

/**
 * @param planned seconds at the given pace: what comes later is a trickle
 * @param part names this load's receivers and markers apart from another's in the same run
 */
export function createDeliveryLoad({ client, ledger, receivers, seed, planned, pace, part = '' }) {
  const dice = createRandom(seed, `load${part}`);
  let [stopped, markers, hosts] = [false, 0, 0];
  const goesOn = () => !stopped;

  const subscribe = async (name, kind, types) => {
    const secret = `whsec_${randomBytes(32).toString('base64')}`;
    hosts += 1;
    const json = {
      url: receivers.register(`${name}${part}`, { kind, secret, host: hosts }),
      event_types: types,
      secret,
      retry_policy: { delays_seconds: DELAYS },
    };
    const sent = now();
    // The key makes the repetition safe: there is one subscription, whatever was lost.
    const headers = { 'idempotency-key': randomUUID() };
    const answer = await client.persist('POST', '/api/v1/webhooks', { json, headers });
    if (answer.status !== 201)
      throw new Error(`a subscription gave ${answer.status} ${JSON.stringify(answer.body)}`);
    const subscription = {
      id: answer.body.id,
      name: `${name}${part}`,
      kind,
      types,
      sent,
      created: answer.answered,
      offs: [],
    };
    ledger.subscriptions.set(subscription.id, subscription);
    if (!answer.headers.has('idempotency-replayed')) client.noteChange('subscription created', answer);
    return subscription;
  };

  const note = (type, how) => {
    markers += 1;
    const marker = `m${part}${markers}`;
    const publication = {
      marker,
      type,
      how,
      sent: now(),
      answered: undefined,
      outcome: 'unknown',
      ids: new Set(),
    };
    ledger.publications.set(marker, publication);
    return publication;
  };
  const settle = (publication, answer, body) => {
    if (answer.status !== 202 || body?.event_id === undefined) {
      if (answer.isKnown && publication.outcome === 'unknown') publication.outcome = 'refused';
      return;
    }
    publication.outcome = 'accepted';
    publication.answered ??= answer.answered;
    publication.ids.add(body.event_id);
    publication.deliveries = body.deliveries;
  };
  const eventOf = ({ marker, type }) => ({ type, data: { marker, filler: 'x'.repeat(dice.below(400)) } });

  const publish = {
    plain: async () => {
      const one = note(dice.pick(TYPES), 'plain');
      const answer = await client.ask('POST', '/api/v1/events', { json: eventOf(one) });
      settle(one, answer, answer.body);
    },
    id: async () => {
      const one = note(dice.pick(TYPES), 'id');
      const json = { ...eventOf(one), event_id: randomUUID() };
      const answer = await client.persist('POST', '/api/v1/events', { json });
      settle(one, answer, answer.body);
    },
    batch: async () => {
      const all = Array.from({ length: 2 + dice.below(6) }, () => note(dice.pick(TYPES), 'batch'));
      const json = all.map((one) => ({ ...eventOf(one), event_id: randomUUID() }));
      const answer = await client.persist('POST', '/api/v1/events', { json });
      for (const [index, one] of all.entries()) settle(one, answer, answer.body?.results?.[index]);
    },
    key: async () => {
      const one = note(dice.pick(TYPES), 'key');
      const key = randomUUID();
      const json = eventOf(one);
      const other = { type: json.type, data: { marker: `${one.marker}-other` } };
      const send = async (body, input) => {
        const answer = await client.ask('POST', '/api/v1/events', {
          json: body,
          headers: { 'idempotency-key': key },
        });
        const output = answer.isKnown ? outputOf(answer) : 'unknown';
        ledger.noteOperation('idempotency', key, { call: answer.sent, end: answer.answered, input, output });
        if (input === 'first') settle(one, answer.status === 409 ? { isKnown: false } : answer, answer.body);
        return answer;
      };
      const until = async () => {
        for (;;) {
          const answer = await send(json, 'first');
          if (answer.isKnown && answer.status !== 409) return;
          await sleep(200);
        }
      };
      const senders = dice.chance(0.4) ? 3 : 1;
      await Promise.all(Array.from({ length: senders }, until));
      if (dice.chance(0.2)) await send(json, 'first');
      if (dice.chance(0.1)) await send(other, 'other');
    },
  };
  const outputOf = ({ status, body }) => {
    if (status === 202) return `id:${body.event_id}`;
    return status === 409 ? 'in progress' : status === 422 ? 'reused' : `status:${status}`;
  };

  const publishOn = async (random) => {
    const end = now() + planned * 1_000;
    while (goesOn()) {
      await publish[random.pick(['plain', 'id', 'id', 'batch', 'key', 'key'])]();
      // Faults that a slow machine draws out find a trickle: what piles up would draw them out further.
      const slower = now() > end ? AFTER_PLAN : 1;
      await sleep(random.between(0.5, 1.5) * pace * slower);
    }
  };

  /** Switches a subscription off and on. */
  const pauseOn = async (subscription, random) => {
    const path = `/api/v1/webhooks/${subscription.id}`;
    while (goesOn()) {
      await sleep(random.between(1_500, 5_000));
      const off = await client.persist('PUT', path, { json: { active: false } });
      if (off.status !== 200) return ledger.violate('management', `a pause gave ${off.status}`);
      const pause = { from: off.answered, to: undefined };
      subscription.offs.push(pause);
      client.noteChange('subscription paused', off);
      await sleep(random.between(1_000, 4_000));
      pause.to = now();
      await client.persist('PUT', path, { json: { active: true } });
    }
  };

  /** Subscriptions that come and go. */
  const comeAndGo = async (random) => {
    for (let n = 1; goesOn(); n += 1) {
      const subscription = await subscribe(`brief${n}`, 'flaky', ['load.a.one', 'load.b.one']);
      await sleep(random.between(2_000, 6_000));
      subscription.deleting = now();
      const path = `/api/v1/webhooks/${subscription.id}`;
      const gone = await client.persist('DELETE', path);
      subscription.deleted = gone.answered;
      client.noteChange('subscription deleted', gone);
    }
  };

  /** Deliveries that fail are canceled, or tried again by hand. */
  const cancelOn = async (random) => {
    const asked = new Set();
    const unanswered = new Set();
    for (; goesOn(); await sleep(random.between(300, 1_200))) {
      // Of failing receivers, or under way.
      const waiting = ledger.posts.filter(
        ({ name, status, delivery }) =>
          !ledger.ends.has(delivery) &&
          (name === `stubborn${part}` || (name === `slow${part}` && status === undefined)),
      );
      if (waiting.length === 0) continue;
      const { name, delivery } = random.pick(waiting);
      // A retry of one that has ended would be a replay.
      const mayRetry = name === `stubborn${part}` && !asked.has(delivery);
      const what = mayRetry && random.chance(0.3) ? 'retry' : 'cancel';
      if (what === 'cancel') asked.add(delivery);
      const answer = await client.ask('POST', `/api/v1/deliveries/${delivery}/${what}`, { json: {} });
      if (what === 'cancel' && answer.status === 202 && answer.body.status === 'canceled') {
        ledger.noteEnd(delivery, 'canceled', answer.answered);
        // One that an unanswered request has canceled already is not recorded again.
        if (!unanswered.has(delivery)) client.noteChange('delivery canceled', answer);
      }
      if (what === 'cancel' && !answer.isKnown) unanswered.add(delivery);
    }
  };

  /** Asks what became of deliveries that were answered. */
  const lookOn = async (random) => {
    for (; goesOn(); await sleep(100)) {
      const answered = ledger.posts
        .slice(-300)
        .filter(({ status, delivery }) => status && !ledger.ends.has(delivery));
      if (answered.length === 0) continue;
      const { delivery } = random.pick(answered);
      const { status, body, answered: at } = await client.ask('GET', `/api/v1/deliveries/${delivery}`);
      if (status === 200 && ['delivered', 'failed', 'canceled'].includes(body.status))
        ledger.noteEnd(delivery, body.status, at);
    }
  };

  return {
    open: async () => {
      for (const [name, kind, types] of STANDING) await subscribe(name, kind, types);
    },
    /** @returns ends when everything that was begun has its answer */
    run: () => {
      const paused = [...ledger.subscriptions.values()].find(({ name }) => name === `paused${part}`);
      const own = (name) => createRandom(seed, `${name}${part}`);
      return Promise.all([
        ...[1, 2, 3, 4].map((n) => publishOn(own(`publisher ${n}`))),
        pauseOn(paused, own('pause')),
        comeAndGo(own('brief')),
        cancelOn(own('cancel')),
        lookOn(own('look')),
      ]);
    },
    stop: () => {
      stopped = true;
    },
  };
}
