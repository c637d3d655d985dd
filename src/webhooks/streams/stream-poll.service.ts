// Hands the tokens of a polled stream to its receiver, until the receiver acknowledges or refuses them (RFC 8936).

import { setTimeout as sleep } from 'node:timers/promises';
import type { RequestContext } from '../../platform/context.ts';
import type { Database } from '../../platform/database/database.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import { bindUseCases } from '../../platform/use-cases.ts';
import type { RecordService } from '../intake/record.service.ts';
import type { SecurityEventService } from './security-event.service.ts';
import { nameOf, unknownStream } from './stream.service.ts';
import * as streamStore from './stream.store.ts';
import type { WaitingDelivery } from './stream-poll.store.ts';
import * as store from './stream-poll.store.ts';
import { refusalCode } from './token-refusal.ts';

export type PollRequest = {
  readonly maxEvents?: number | undefined;
  readonly returnImmediately?: boolean | undefined;
  readonly ack?: readonly string[] | undefined;
  readonly setErrs?: Readonly<Record<string, { readonly err: string }>> | undefined;
};

/** `sets`: compact JWS by `jti`. */
export type PollAnswer = { sets: Record<string, string>; moreAvailable?: true };

/** Milliseconds. A request that waits is answered soon, so that it holds a turn of its tenant only for a while. */
export const POLL_SETTINGS = { wait: 5_000, pause: 250, waitingPerTenant: 4, mostSets: 100 } as const;

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export type StreamPollNeeds = {
  database: Pick<Database, 'transaction' | 'query'>;
  records: Pick<RecordService, 'write'>;
  securityEvents: Pick<SecurityEventService, 'composeOnce'>;
  settings?: { readonly [Name in keyof typeof POLL_SETTINGS]: number } | undefined;
  now?: (() => number) | undefined;
};

/** @param now a monotonic clock in milliseconds */
export function createStreamPollService(needs: StreamPollNeeds) {
  const tools = prepareStreamPoll(needs);
  return bindUseCases(tools, { poll });
}

export type StreamPollService = ReturnType<typeof createStreamPollService>;

type StreamPollTools = ReturnType<typeof prepareStreamPoll>;

function prepareStreamPoll({
  settings = POLL_SETTINGS,
  now = () => performance.now(),
  ...needs
}: StreamPollNeeds) {
  const waitingOf = new Map<string, number>();
  return { ...needs, settings, now, waitingOf };
}

/**
 * Ends what the receiver acknowledges or refuses, and returns the oldest tokens that it has not. A token is
 * returned again until then. A paused or disabled stream returns none.
 * @throws ServiceError `not_found`; `conflict` for a stream that is pushed
 */
async function poll(
  needs: StreamPollTools,
  context: RequestContext,
  id: string,
  { maxEvents, returnImmediately = false, ack = [], setErrs = {} }: PollRequest,
): Promise<PollAnswer> {
  const stream = await streamStore.find(needs.database, nameOf(context, id));
  if (stream === undefined) throw unknownStream();
  if (stream.method !== 'poll') throw new ServiceError('conflict', { detail: 'The stream is pushed.' });
  const acknowledged = ack.filter((jti) => UUID.test(jti));
  if (acknowledged.length > 0) await store.acknowledge(needs.database, id, acknowledged);
  await refuse(needs, context, id, setErrs);
  const most = Math.min(maxEvents ?? needs.settings.mostSets, needs.settings.mostSets);
  if (most === 0 || stream.status !== 'enabled') return { sets: {} };
  const mayWait = !returnImmediately;
  const found = await read(needs, context.tenant.id, id, { most, mayWait });
  const shown = found.slice(0, most);
  const tokens = await Promise.all(
    shown.map(({ id: deliveryId, body, readAt }) =>
      needs.securityEvents.composeOnce({
        tenantId: context.tenant.id,
        streamId: id,
        audience: stream.audience,
        deliveryId,
        body,
        at: readAt.getTime(),
      }),
    ),
  );
  const sets = Object.fromEntries(shown.map(({ id: jti }, index) => [jti, tokens[index] ?? '']));
  return { sets, ...(found.length > most ? { moreAvailable: true } : {}) };
}

async function refuse(
  { database, records }: StreamPollTools,
  context: RequestContext,
  streamId: string,
  setErrs: NonNullable<PollRequest['setErrs']>,
): Promise<void> {
  const refused = Object.entries(setErrs)
    .filter(([id]) => UUID.test(id))
    .map(([id, { err }]) => ({ id, error: refusalCode(err) }));
  if (refused.length === 0) return;
  await database.transaction(context, async (unit) => {
    const ended = await store.refuse(unit, streamId, refused);
    for (const { id, eventId, eventType } of ended) {
      const error = refusalCode(setErrs[id]?.err);
      const facts = {
        subscription_id: streamId,
        event_id: eventId,
        event_type: eventType,
        reason: 'rejected',
        attempt_count: 0,
        last_status_code: null,
        last_error: error,
      };
      const type = 'webhook.delivery.failed';
      await records.write(unit, context, {
        audit: [{ action: type, outcome: 'failure', target: { type: 'delivery', id }, data: facts }],
        events: [{ type, data: { delivery_id: id, ...facts }, exceptSubscription: streamId }],
      });
    }
  });
}

/** Reads waiting deliveries; without any, waits for one for a while, as far as the tenant has room to wait. */
async function read(
  { database, waitingOf, settings, now }: StreamPollTools,
  tenantId: string,
  streamId: string,
  { most, mayWait }: { most: number; mayWait: boolean },
): Promise<WaitingDelivery[]> {
  const first = await store.waiting(database, streamId, most + 1);
  const others = waitingOf.get(tenantId) ?? 0;
  if (first.length > 0 || !mayWait || others >= settings.waitingPerTenant) return first;
  waitingOf.set(tenantId, others + 1);
  try {
    for (const end = now() + settings.wait; now() < end; ) {
      await sleep(settings.pause);
      const found = await store.waiting(database, streamId, most + 1);
      if (found.length > 0) return found;
    }
    return [];
  } finally {
    const left = (waitingOf.get(tenantId) ?? 1) - 1;
    if (left === 0) waitingOf.delete(tenantId);
    else waitingOf.set(tenantId, left);
  }
}
