// SQL of the relay: its beat, its claims and its hand-overs. The database's clock decides which relays are alive.
// Relays claim rows with SKIP LOCKED, so no relay waits for another.
import { MAX } from 'uuid';
import { boundsOf } from '../../platform/database/partitions.ts';
import { changed, counted, many, type Statement, value } from '../../platform/database/statements.ts';
import type { Queryable } from '../../platform/database/transaction.ts';
import { LOADED_COLUMNS, type LoadedDelivery } from '../deliveries/attempt.store.ts';
import type { LastAttempt, Wait } from '../deliveries/attempt.ts';
import type { StoredStatus } from '../deliveries/delivery.ts';
import { SPEND_PERMITS } from '../endpoints/endpoint-permit.store.ts';
import { markStarted, OWN_WORKFLOW, wake } from '../rows/delivery-row.ts';
import { claimRows, enqueue, free, removeClaimed } from '../rows/outbox.ts';
import { LATE_AFTER, type ReadyEndpoint, type Share } from './allocation.ts';

/** A relay whose last beat is older is dead, and other relays take over its claims. */
const RELAY_LIFETIME = "interval '5 seconds'";

export type RelayIdentity = { readonly instance: string; readonly epoch: number };

/** A claimed row of the outbox with the data of its hand-over. `status` is null when the delivery is gone. */
export type Work = {
  readonly id: string;
  readonly kind: 'first' | 'wake' | 'start' | 'command';
  readonly command: 'retry' | 'cancel' | null;
  readonly deliveryId: string;
  readonly generation: number;
  readonly tenantId: string;
  readonly endpoint: string;
  readonly status: StoredStatus | null;
  /** The generation in the delivery's row, which may be newer than `generation`. */
  readonly rowGeneration: number | null;
  readonly attemptCount: number;
  /** The workflow of the delivery makes its next attempt: this row starts it, or it runs. */
  readonly ownWorkflow: boolean;
  readonly eventType: string;
  readonly host: string;
  readonly trace?: string | null | undefined;
  readonly epoch: number;
  readonly paced: boolean;
  /** The row has what a first attempt needs: its body is not large. */
  readonly loaded?: boolean | undefined;
  /** The last attempt of a delivery that needs a workflow, and the wait until the next one: 0 when that is due. */
  readonly tried?: { readonly last: LastAttempt; readonly waiting: Wait } | undefined;
};

/** A claimed attempt without a workflow that its sender need not read again. */
export type LoadedWork = Work & LoadedDelivery;

export const isLoaded = (work: Work): work is LoadedWork => work.loaded === true;

/** A claim as the statement reads it. */
type ClaimedRow = Omit<LoadedWork, 'readAt' | 'tried' | 'loaded'> & { readonly loaded: boolean };

// The claims whose relay is not alive in the epoch of the claim.
const STRANDED = `
  outbox o WHERE o.claimed_by IS NOT NULL AND (o.claimed_by, o.claim_epoch) NOT IN (
    SELECT r.instance, r.epoch FROM relays r WHERE r.seen_at > now() - ${RELAY_LIFETIME})`;
const freeStranded = counted(free(`SELECT o.id FROM ${STRANDED} FOR UPDATE OF o SKIP LOCKED`));

// These ask once a second whether there is work for a statement that opens every partition of the deliveries.
const hasStranded = changed<[most: 1]>(`SELECT 1 FROM ${STRANDED} LIMIT $1`);
const hasCommand = changed<[most: 1]>(
  "SELECT 1 FROM outbox WHERE claimed_by IS NULL AND kind = 'command' LIMIT $1",
);

const freeOwn = changed<[instance: string]>(free('SELECT id FROM outbox WHERE claimed_by = $1 FOR UPDATE'));

// A skip scan: one index probe for each endpoint, independent of the number of its rows. An endpoint that has opened
// since only first attempts were refused is as fast as its answers: a batch of eight would cost more than its attempts.
const listReady = many<ReadyEndpoint, [afterTenantId: string, afterEndpoint: string, limit: number]>(`
WITH RECURSIVE ready AS (
  (SELECT o.tenant_id, o.endpoint FROM outbox o
   WHERE o.claimed_by IS NULL AND o.kind <> 'command' AND (o.tenant_id, o.endpoint) > ($1::uuid, $2::uuid)
   ORDER BY o.tenant_id, o.endpoint LIMIT 1)
  UNION ALL
  SELECT following.tenant_id, following.endpoint FROM ready r CROSS JOIN LATERAL (
    SELECT o.tenant_id, o.endpoint FROM outbox o
    WHERE o.claimed_by IS NULL AND o.kind <> 'command' AND (o.tenant_id, o.endpoint) > (r.tenant_id, r.endpoint)
    ORDER BY o.tenant_id, o.endpoint LIMIT 1) AS following
)
SELECT r.tenant_id, r.endpoint, endpoint_is_open(p) AS open, p.p90_ms,
  p.failures_in_a_row > 0 AND NOT (p.state = 'open' AND p.probe_step > 0) AS failing, p.in_flight_cap AS cap,
  p.failures_in_a_row AS failures, p.probe_step,
  endpoint_permits(p) AS permits, endpoint_tokens(p) AS tokens, p.rate
FROM (SELECT * FROM ready LIMIT $3) r JOIN endpoints p ON p.subscription_id = r.endpoint
ORDER BY r.tenant_id, r.endpoint`);

const ALIVE = `EXISTS (
  SELECT 1 FROM relays r WHERE r.instance = $1 AND r.epoch = $2 AND r.seen_at > now() - ${RELAY_LIFETIME})`;

// Bodies above this size are read by the send: a claim is one answer in memory.
const MOST_BODY_BYTES = 32_768;

// OFFSET 0 makes each join one index lookup a row, in the one partition that its id names.
const CLAIMED = `
SELECT c.id, c.kind, c.command, c.delivery_id, c.generation, c.tenant_id, c.endpoint, d.status,
  d.generation AS row_generation, coalesce(d.attempt_count, 0) AS attempt_count, ${OWN_WORKFLOW} AS own_workflow, coalesce(d.event_type, '') AS event_type, d.trace,
  s.host, p.epoch, p.permits IS NOT NULL AND c.kind <> 'command' AS paced`;
const CLAIMED_ROWS = `
FROM claimed c
JOIN subscriptions s ON s.id = c.endpoint JOIN endpoints p ON p.subscription_id = c.endpoint
LEFT JOIN LATERAL (SELECT * FROM deliveries WHERE deliveries.id = c.delivery_id OFFSET 0) AS d ON true`;
const CLAIMED_BODIES = `
LEFT JOIN LATERAL (
  SELECT CASE WHEN octet_length(body) <= ${MOST_BODY_BYTES} THEN body END AS body, octet_length(body) > ${MOST_BODY_BYTES} AS large
  FROM events WHERE events.id = d.event_row AND c.kind = 'first' AND NOT ${OWN_WORKFLOW} OFFSET 0) AS e ON true`;

/** Locks unclaimed rows of an endpoint, in the order of the index. */
const pick = (which: string, limit: string) => `ARRAY(
      SELECT id FROM outbox
      WHERE tenant_id = w.tenant_id AND endpoint = w.endpoint AND claimed_by IS NULL AND kind <> 'command' AND ($3 OR kind = 'first') AND ${which}
      ORDER BY tenant_id, endpoint, rank, id LIMIT ${limit} FOR UPDATE SKIP LOCKED)`;

// The id of a row has the time of its delivery, or that at which the retry parked.
const RETRY = `rank = 1 AND id <= CASE WHEN w.late THEN uuid_of_time(now() - ${LATE_AFTER} * interval '1 millisecond') ELSE '${MAX}' END`;

// The claim takes what each share says: retries for its places for these, and the rest in the order of the rank. Only
// one relay at a time locks an endpoint that is paced or has a rate; under this lock it takes at most as many rows as
// the endpoint still has permits and tokens. Other endpoints are not locked. The commit does not wait for the disk,
// because a claim that is lost in a crash of the database is made again.
const COLUMNS_OF_SHARES = ['tenantId', 'endpoint', 'quota', 'retries', 'late'] as const;
const CLAIM = `
WITH unflushed AS (
  SELECT set_config('synchronous_commit', 'off', true)
), gate AS (
  SELECT p.subscription_id, endpoint_permits(p) AS permits, endpoint_tokens(p) AS tokens FROM endpoints p
  WHERE p.subscription_id = ANY($5::uuid[]) AND (p.permits IS NOT NULL OR p.rate IS NOT NULL)
  ORDER BY p.subscription_id FOR UPDATE SKIP LOCKED
), picked AS (
  SELECT unnest(ids) AS id FROM unflushed
  CROSS JOIN unnest($4::uuid[], $5::uuid[], $6::int[], $7::int[], $8::boolean[]) AS w (tenant_id, endpoint, quota, retries, late)
  JOIN endpoints p ON p.subscription_id = w.endpoint AND endpoint_is_open(p)
  LEFT JOIN gate g ON g.subscription_id = w.endpoint
  CROSS JOIN LATERAL (
    SELECT CASE WHEN p.permits IS NULL AND p.rate IS NULL THEN w.quota
      ELSE greatest(0, least(w.quota, coalesce(least(g.permits, floor(g.tokens)::int), 0))) END AS places OFFSET 0) AS room
  CROSS JOIN LATERAL (SELECT ${pick(RETRY, 'least(w.retries, places)')} AS kept OFFSET 0) AS retries
  CROSS JOIN LATERAL (SELECT kept || ${pick('id <> ALL (kept)', 'places - cardinality(kept)')} AS ids OFFSET 0) AS rows
), claimed AS (
  ${claimRows('picked', ALIVE)}
), spent AS (
  ${SPEND_PERMITS}
)`;
const claimWork = many<
  ClaimedRow,
  [instance: string, epoch: number, all: boolean, ...shares: unknown[][]]
>(`${CLAIM}${CLAIMED}, c.kind = 'first' AND NOT ${OWN_WORKFLOW} AND e.large IS NOT TRUE AS loaded, false AS recorded, e.body, ${LOADED_COLUMNS}
${CLAIMED_ROWS}${CLAIMED_BODIES} ORDER BY c.id`);

const takeCommands = many<Omit<Work, 'loaded' | 'tried'>, [instance: string, epoch: number, limit: number]>(`
WITH picked AS (
  SELECT id FROM outbox WHERE claimed_by IS NULL AND kind = 'command' ORDER BY id LIMIT $3 FOR UPDATE SKIP LOCKED
), claimed AS (
  ${claimRows('picked', ALIVE)}
)
${CLAIMED}${CLAIMED_ROWS} ORDER BY c.id`);

const MARKED = 'd.id = ANY($6::uuid[]) AND d.id BETWEEN $7 AND $8';

// Only rows that this relay still owns are deleted. When another relay has taken a row over, that relay hands the row
// over, and the delivery may wait again. A delivery whose workflow has recorded an attempt is already marked as
// started, so it is not written again. A retry or cancellation between the start of the workflow and the mark has
// enqueued no command, so this statement enqueues the command. A woken delivery becomes due, so that the sweep finds
// it, unless it waits again. The commit does not wait for the disk, because a hand-over can be repeated. Deliveries are
// locked in id order, as in all statements that lock several.
const completeAll = changed<
  [
    instance: string,
    epoch: number,
    ids: readonly string[],
    marks: readonly boolean[],
    epochs: readonly number[],
    marked: readonly string[],
    least: string,
    greatest: string,
  ]
>(`
WITH unflushed AS (
  SELECT set_config('synchronous_commit', 'off', true)
), own AS (
  ${removeClaimed('unflushed, unnest($3::uuid[], $4::boolean[], $5::bigint[]) AS w (id, mark, epoch)')}
), target AS (
  SELECT d.id, own.kind, own.generation, own.epoch FROM own JOIN deliveries d ON d.id = own.delivery_id
  WHERE own.mark AND ${MARKED} AND CASE own.kind
    WHEN 'wake' THEN d.waiting_epoch <= own.epoch
    ELSE d.generation = own.generation AND d.started_generation IS DISTINCT FROM own.generation END
  ORDER BY d.id FOR UPDATE OF d
), woken AS (
  ${wake('target', MARKED, 'own')}
), marked AS (
  ${markStarted('target', MARKED)}
)
${enqueue({
  kind: `'command'`,
  command: `CASE status WHEN 'canceled' THEN 'cancel' ELSE 'retry' END`,
  from: `marked WHERE retry_requested_at IS NOT NULL OR status = 'canceled'`,
})}`);

const registerAs = value<number, [instance: string, role: 'worker' | 'api']>(`
INSERT INTO relays (instance, role, epoch, seen_at) VALUES ($1, $2, 1, now())
ON CONFLICT (instance) DO UPDATE SET epoch = relays.epoch + 1, seen_at = now() RETURNING epoch`);

/** Registers a process as alive in a new epoch. Its claims of an earlier epoch become void. */
export async function register(
  queryable: Queryable,
  instance: string,
  role: 'worker' | 'api',
): Promise<RelayIdentity> {
  return { instance, epoch: await registerAs(queryable, instance, role) };
}

/** Makes a function of a relay's identity from a statement that begins with its two parameters. */
const ofRelay =
  <Values extends readonly unknown[], Answer>(
    statement: Statement<[instance: string, epoch: number, ...Values], Answer>,
  ) =>
  (queryable: Queryable, { instance, epoch }: RelayIdentity, ...values: Values): Promise<Answer> =>
    statement(queryable, instance, epoch, ...values);

/** Writes the beat. @returns false when this relay counts as dead and must register again */
export const beat = ofRelay(
  changed<[instance: string, epoch: number]>(`
UPDATE relays SET seen_at = now() WHERE instance = $1 AND epoch = $2 AND seen_at > now() - ${RELAY_LIFETIME}`),
);

const forgetDead = counted(`DELETE FROM relays WHERE seen_at < now() - 2 * ${RELAY_LIFETIME}`);

/** Frees the claims of dead relays. @returns the number of freed rows */
export async function takeOver(queryable: Queryable): Promise<number> {
  await forgetDead(queryable);
  return (await hasStranded(queryable, 1)) ? freeStranded(queryable) : 0;
}

const forget = changed<[instance: string]>('DELETE FROM relays WHERE instance = $1');

export async function leave(queryable: Queryable, { instance }: RelayIdentity): Promise<void> {
  await forget(queryable, instance);
  await freeOwn(queryable, instance);
}

/** Reads endpoints with unclaimed work in order, after `after`, at most `limit`. */
export const readyEndpoints = (
  queryable: Queryable,
  { after, limit }: { after: { tenantId: string; endpoint: string }; limit: number },
): Promise<ReadyEndpoint[]> => listReady(queryable, after.tenantId, after.endpoint, limit);

/** @returns with what the workflow of a delivery begins that was tried; undefined when it runs, or is a due replay */
function triedOf(row: ClaimedRow): Work['tried'] {
  const { kind, attemptCount: n, lastOutcome, dueInMs, retryRequested, generation } = row;
  if (n === 0 || lastOutcome === null || dueInMs === null || retryRequested) return undefined;
  if (dueInMs <= 0 && (kind === 'wake' || generation > 0)) return undefined;
  return { last: { n, outcome: lastOutcome }, waiting: { kind: 'wait', delayMs: dueInMs } };
}

/**
 * Claims the oldest rows of open endpoints as their shares say, and reads what their hand-overs need.
 * @param kinds `first`: only attempts without a workflow
 */
export async function claim(
  queryable: Queryable,
  { instance, epoch }: RelayIdentity,
  shares: readonly Pick<Share, (typeof COLUMNS_OF_SHARES)[number]>[],
  { kinds = 'all' }: { kinds?: 'all' | 'first' } = {},
): Promise<Work[]> {
  const told = COLUMNS_OF_SHARES.map((name) => shares.map((share) => share[name]));
  const rows = await claimWork(queryable, instance, epoch, kinds === 'all', ...told);
  const readAt = performance.now();
  // The rows are completed in place: a copy of so many members costs more than their read.
  return rows.map((row) => Object.assign(row, row.loaded ? { readAt } : { tried: triedOf(row) }));
}

export async function claimCommands(
  queryable: Queryable,
  { instance, epoch }: RelayIdentity,
  limit: number,
): Promise<Work[]> {
  return (await hasCommand(queryable, 1)) ? takeCommands(queryable, instance, epoch, limit) : [];
}

/**
 * Deletes rows that were handed over, and marks the deliveries of `marked` as started. Rows that another relay has
 * taken over are not changed. A repetition changes nothing.
 */
export async function complete(
  queryable: Queryable,
  { instance, epoch }: RelayIdentity,
  marked: readonly Work[],
  unmarked: readonly Work[],
): Promise<void> {
  const work = [...marked, ...unmarked];
  await completeAll(
    queryable,
    instance,
    epoch,
    work.map(({ id }) => id),
    work.map((_, index) => index < marked.length),
    work.map((row) => row.epoch),
    marked.map((row) => row.deliveryId),
    ...boundsOf(work.map((row) => row.deliveryId)),
  );
}

/** Gives claims back. @returns how many this relay still had */
export const release = ofRelay(
  counted<[instance: string, epoch: number, ids: readonly string[]]>(
    free(
      'SELECT id FROM outbox WHERE id = ANY($3::uuid[]) AND claimed_by = $1 AND claim_epoch = $2 FOR UPDATE',
    ),
  ),
);

/** Lists the rows that this relay holds by its claims. */
export const claims = ofRelay(
  many<{ id: string }, [instance: string, epoch: number]>(
    'SELECT id FROM outbox WHERE claimed_by = $1 AND claim_epoch = $2',
  ),
);

const findAttempted = many<
  { id: string },
  [ids: readonly string[], attempts: readonly number[], least: string, greatest: string]
>(`
SELECT d.id FROM unnest($1::uuid[], $2::int[]) AS w (id, attempts) JOIN deliveries d ON d.id = w.id
WHERE d.id = ANY($1::uuid[]) AND d.id BETWEEN $3 AND $4
  AND (d.attempt_count > w.attempts OR d.status NOT IN ('pending', 'retrying') OR d.waiting_epoch IS NOT NULL)`);

/** Finds the deliveries among these that had another attempt, have ended, or wait for their endpoint. */
export function attempted(
  queryable: Queryable,
  flights: readonly { deliveryId: string; attempts: number }[],
): Promise<{ id: string }[]> {
  const ids = flights.map(({ deliveryId }) => deliveryId);
  return findAttempted(
    queryable,
    ids,
    flights.map(({ attempts }) => attempts),
    ...boundsOf(ids),
  );
}
