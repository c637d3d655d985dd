// What lets a test wait for steps instead of time: relays that a busy machine does not declare dead, attempts of
// workflows that begin when the test says so, and how to know that nothing more will happen by itself.
import type { Client } from '@temporalio/client';
import type { Database } from '../../src/platform/database/database.ts';
import { deliveryWorkflowId } from '../../src/platform/temporal/names.ts';
import { RELAY_SETTINGS } from '../../src/webhooks/relay/relay.service.ts';
import * as relayStore from '../../src/webhooks/relay/relay.store.ts';
import { eventually } from './eventually.ts';

/** Milliseconds for which a silent relay lives. */
export const PATIENT_LEASE = 20 * RELAY_SETTINGS.lease;

/** A relay that runs: how many rounds it has begun and how many claims it has made, and what makes it begin a round. */
export type WatchedRelay = {
  readonly rounds: () => number;
  readonly claims: () => number;
  readonly poke: () => void;
};

/** Makes the store of one relay: its beats last longer, and its rounds are counted. */
export function createWatchedStore(database: Pick<Database, 'query'>) {
  let [rounds, claims] = [0, 0];
  const prolong = (instance: string) =>
    database.query(
      `UPDATE relays SET seen_at = now() + $2::float8 * interval '1 millisecond' WHERE instance = $1`,
      [instance, PATIENT_LEASE],
    );
  const store: typeof relayStore = {
    ...relayStore,
    register: async (...given) => {
      const identity = await relayStore.register(...given);
      await prolong(identity.instance);
      return identity;
    },
    beat: async (queryable, identity) => {
      const isAlive = await relayStore.beat(queryable, identity);
      if (isAlive) await prolong(identity.instance);
      return isAlive;
    },
    readyEndpoints: (...given) => {
      rounds += 1;
      return relayStore.readyEndpoints(...given);
    },
    claim: async (...given) => {
      const work = await relayStore.claim(...given);
      claims += 1;
      return work;
    },
  };
  return { store, rounds: () => rounds, claims: () => claims };
}

/** @returns `pass`, which waits while it is closed; `close`, which returns how to open it again */
export function createTurnstile() {
  let closed: Promise<void> | undefined;
  return {
    pass: async (): Promise<void> => closed,
    close: (): (() => void) => {
      let open: () => void = () => undefined;
      closed = new Promise((resolve) => {
        open = () => {
          closed = undefined;
          resolve();
        };
      });
      return () => open();
    },
  };
}

type Standing = { restless: boolean; waiting: string; started: { id: string; generation: number }[] };

// A delivery that is due and for which no row waits is under way, or is about to be. The crowd of an inactive endpoint
// waits until that is active.
const STANDING = `
SELECT EXISTS (SELECT 1 FROM outbox WHERE ($1::uuid IS NULL OR endpoint = $1) AND (claimed_by IS NOT NULL OR kind = 'command'))
    OR EXISTS (SELECT 1 FROM unfinished d WHERE d.waiting_epoch IS NULL AND coalesce(d.next_attempt_at, now()) <= now() + $2::float8 * interval '1 millisecond'
         AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.delivery_id = d.id) AND NOT EXISTS (
           SELECT 1 FROM crowded_deliveries c JOIN endpoints p USING (subscription_id) WHERE c.delivery_id = d.id AND NOT p.active)) AS restless,
  (SELECT coalesce(string_agg(id::text, ',' ORDER BY id), '') FROM outbox WHERE $1::uuid IS NULL OR endpoint = $1) AS waiting,
  (SELECT coalesce(json_agg(json_build_object('id', id, 'generation', generation)), '[]') FROM unfinished
   WHERE started_generation = generation) AS started`;
const QUIET = `WITH unfinished AS (
  SELECT * FROM deliveries WHERE status IN ('pending', 'retrying') AND ($1::uuid IS NULL OR subscription_id = $1)) ${STANDING}`;

/**
 * Makes the wait until nothing is under way: each row of the outbox waits unclaimed or is gone, each workflow waits,
 * and each running relay has begun three rounds since without a change.
 */
export function createQuiet({
  database,
  client,
  relays,
}: {
  database: Pick<Database, 'query'>;
  client: Client;
  relays: ReadonlySet<WatchedRelay>;
}) {
  const isWorking = async (id: string, generation: number): Promise<boolean> => {
    const found = await client.workflow
      .getHandle(deliveryWorkflowId(id, generation))
      .describe()
      .catch(() => undefined);
    if (found?.status.name !== 'RUNNING') return false;
    const { pendingActivities, pendingWorkflowTask } = found.raw;
    return (pendingActivities?.length ?? 0) > 0 || pendingWorkflowTask != null;
  };

  /** @returns the rows that wait; undefined while something is under way */
  const standing = async (
    ...scope: [subscriptionId: string | null, soonMs: number]
  ): Promise<string | undefined> => {
    const { rows } = await database.query<Standing>(QUIET, scope);
    const [row] = rows;
    if (row === undefined || row.restless) return undefined;
    const working = await Promise.all(row.started.map(({ id, generation }) => isWorking(id, generation)));
    return working.includes(true) ? undefined : row.waiting;
  };

  const roundsOfAll = async (): Promise<void> => {
    const before = new Map([...relays].map((relay) => [relay, relay.rounds()]));
    const isThrough = (relay: WatchedRelay) => {
      relay.poke();
      return !relays.has(relay) || relay.rounds() >= (before.get(relay) ?? 0) + 3;
    };
    await eventually(
      () => [...before.keys()].filter((relay) => !isThrough(relay)).length === 0,
      'the rounds',
    );
  };

  /**
   * @param subscriptionId of the only subscription that is looked at; all by default
   * @param soonMs milliseconds until a retry that is still waited for
   */
  return async (subscriptionId: string | null = null, soonMs = 0): Promise<void> => {
    await eventually(async () => {
      const before = await standing(subscriptionId, soonMs);
      if (before === undefined) return false;
      await roundsOfAll();
      return (await standing(subscriptionId, soonMs)) === before;
    }, 'nothing to be under way');
  };
}
