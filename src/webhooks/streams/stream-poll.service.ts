// Hands the tokens of a polled stream to its receiver, until the receiver acknowledges or refuses them (RFC 8936).

import type { RequestContext } from '../../platform/context.ts';
import type { Database } from '../../platform/database/database.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import type { Hold } from '../../platform/hold.ts';
import { roomOwnerOf } from '../../platform/room.ts';
import { Service } from '../../platform/service.ts';
import type { EventWaiters } from '../intake/event-waiters.service.ts';
import type { RecordService } from '../intake/record.service.ts';
import type { SecurityEventService } from './security-event.service.ts';
import { eventsDelivered, typesOf } from './security-event.ts';
import type { StreamRow } from './stream.model.ts';
import { nameOf, unknownStream } from './stream.service.ts';
import * as streamStore from './stream.store.ts';
import { UUID } from './stream.ts';
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

/** Milliseconds for which a request waits for a token, and the most tokens of an answer. */
const WAIT = 30_000;
const MOST_SETS = 100;

/** Matches the event of a verification, which a stream gets without a filter. */
const OF_STREAMS = 'webhook.stream.*';

export type StreamPollNeeds = {
  database: Pick<Database, 'transaction' | 'query'>;
  records: Pick<RecordService, 'write'>;
  securityEvents: Pick<SecurityEventService, 'composeOnce'>;
  waiters: Pick<EventWaiters, 'join'>;
};

export class StreamPollService extends Service<StreamPollNeeds> {
  /**
   * Ends what the receiver acknowledges or refuses, and returns the oldest tokens that it has not. A token is
   * returned again until then. A paused or disabled stream returns none.
   * @throws ServiceError `not_found`; `conflict` for a stream that is pushed; as the places of readers that wait
   */
  poll = async (
    context: RequestContext,
    id: string,
    request: PollRequest,
    hold: Hold,
  ): Promise<PollAnswer> => {
    const { maxEvents = MOST_SETS, returnImmediately = false } = request;
    const stream = await hold.inTurn(() => this.#settle(context, id, request));
    const most = Math.min(maxEvents, MOST_SETS);
    if (most === 0 || stream.status !== 'enabled') return { sets: {} };
    const read = () => hold.inTurn(() => store.waiting(this.needs.database, id, most + 1));
    const found = await (returnImmediately ? read() : this.#readOrWait(stream, { read, hold, context }));
    const shown = found.slice(0, most);
    const tokens = await Promise.all(
      shown.map(({ id: deliveryId, body, readAt }) =>
        this.needs.securityEvents.composeOnce({
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
  };

  /** Ends what the receiver acknowledges or refuses. @returns the stream */
  #settle = async (
    context: RequestContext,
    id: string,
    { ack = [], setErrs = {} }: PollRequest,
  ): Promise<StreamRow> => {
    const stream = await streamStore.find(this.needs.database, ...nameOf(context, id));
    if (stream === undefined) throw unknownStream();
    if (stream.method !== 'poll') throw new ServiceError('conflict', { detail: 'The stream is pushed.' });
    const acknowledged = ack.filter((jti) => UUID.test(jti));
    if (acknowledged.length > 0) await store.acknowledge(this.needs.database, id, acknowledged);
    await this.#refuse(context, id, setErrs);
    return stream;
  };

  #refuse = async (
    context: RequestContext,
    streamId: string,
    setErrs: NonNullable<PollRequest['setErrs']>,
  ): Promise<void> => {
    const refused = Object.entries(setErrs)
      .filter(([id]) => UUID.test(id))
      .map(([id, { err }]) => ({ id, error: refusalCode(err) }));
    if (refused.length === 0) return;
    await this.needs.database.transaction(context, async (unit) => {
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
        await this.needs.records.write(unit, context, {
          audit: [{ action: type, outcome: 'failure', target: { type: 'delivery', id }, data: facts }],
          events: [{ type, data: { delivery_id: id, ...facts }, exceptSubscription: streamId }],
        });
      }
    });
  };

  /** Reads waiting deliveries; without any, waits for an event of the stream. */
  #readOrWait = async (
    { eventsRequested }: StreamRow,
    { read, hold, context }: Reading,
  ): Promise<WaitingDelivery[]> => {
    const types = typesOf(eventsDelivered(eventsRequested));
    const place = this.needs.waiters.join(roomOwnerOf(context), [...types, OF_STREAMS], hold.onEnd);
    try {
      for (const end = performance.now() + WAIT; ; ) {
        const found = await read();
        const left = end - performance.now();
        if (found.length > 0 || left <= 0) return found;
        if ((await hold.wait(place.next(left))) === 'closing') return [];
      }
    } finally {
      place.leave();
    }
  };
}

type Reading = { read: () => Promise<WaitingDelivery[]>; hold: Hold; context: RequestContext };
