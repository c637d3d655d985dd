// The steps of a bulk replay. Each step replays a chunk and stores its position in the same transaction, so that a
// restart neither repeats nor skips a delivery.

import { serviceContext } from '../../audit/audit.ts';
import type { Database } from '../../platform/database/database.ts';
import { newId } from '../../platform/database/ids.ts';
import type { Transaction } from '../../platform/database/transaction.ts';
import { Service } from '../../platform/service.ts';
import type { EndpointService } from '../endpoints/endpoint.service.ts';
import type { RecordService } from '../intake/record.service.ts';
import { describeBulkReplay } from './bulk-replay.service.ts';
import type { BulkReplayName } from './bulk-replay.store.ts';
import * as bulkReplayStore from './bulk-replay.store.ts';
import { type BulkReplay, type BulkReplayStatus, remainingOf } from './bulk-replay.ts';
import type { ReplayRange } from './replay.store.ts';
import * as replays from './replay.store.ts';

/** The next step of the workflow. `chunk`: a chunk was replayed, and there may be more. */
export type BulkReplayStep = 'chunk' | 'wait_for_relay' | 'wait_for_subscription' | 'end';

/** The progress of a bulk replay. `gone`: its row does not exist. */
export type BulkReplayStanding = {
  readonly step: BulkReplayStep;
  readonly status: BulkReplayStatus | 'gone';
  readonly matched: number;
  readonly replayed: number;
  readonly remaining: number;
};

/**
 * `chunk`: deliveries that one step replays. `waiting`: no step replays while so many replays wait for a relay, so that
 * the outbox does not fill up.
 */
const PACE = { chunk: 250, waiting: 500 } as const;

export type BulkReplayStepNeeds = {
  store?: typeof bulkReplayStore | undefined;
  database: Pick<Database, 'transaction'>;
  notifier: { poke(): void };
  endpoints: Pick<EndpointService, 'read'>;
  records: Pick<RecordService, 'write'>;
  pace?: { readonly chunk: number; readonly waiting: number } | undefined;
};

export class BulkReplayStepService extends Service<BulkReplayStepNeeds> {
  readonly #store = this.needs.store ?? bulkReplayStore;
  readonly #pace = this.needs.pace ?? PACE;

  /**
   * Replays the next chunk, unless earlier replays still wait for a relay or the subscription is inactive. Ends the
   * bulk replay when its range is done or the subscription is deleted.
   */
  advance = (name: BulkReplayName): Promise<BulkReplayStanding> =>
    this.needs.database.transaction({}, async (unit) => {
      const replay = await this.#store.lock(unit, name);
      if (replay === undefined) return GONE;
      if (replay.status !== 'running') return standingOf(replay, 'end');
      const endpoint = (await this.needs.endpoints.read(unit, [replay.subscriptionId])).get(
        replay.subscriptionId,
      );
      if (endpoint === undefined || endpoint.deleted) return this.#end(unit, replay, 'canceled');
      if (!endpoint.active) return standingOf(replay, 'wait_for_subscription');
      const waiting = await replays.waiting(unit, replay.tenantId, replay.subscriptionId, this.#pace.waiting);
      if (waiting >= this.#pace.waiting) return standingOf(replay, 'wait_for_relay');
      return this.#replayChunk(unit, replay);
    });

  #contextOf = ({ tenantId }: BulkReplay) => serviceContext({ id: tenantId }, newId());

  #end = async (
    unit: Transaction,
    replay: BulkReplay,
    status: 'completed' | 'canceled',
  ): Promise<BulkReplayStanding> => {
    const reason = status === 'canceled' ? 'subscription_deleted' : null;
    await this.#store.end(unit, replay.id, status, reason);
    const more = reason === null ? {} : { reason };
    await this.needs.records.write(unit, this.#contextOf(replay), {
      audit: [describeBulkReplay(status, replay, more)],
    });
    return standingOf({ ...replay, status }, 'end');
  };

  #replayChunk = async (unit: Transaction, replay: BulkReplay): Promise<BulkReplayStanding> => {
    const options = { id: replay.id, after: replay.nextAfter, limit: this.#pace.chunk };
    const done = await replays.replay(unit, rangeOf(replay), options);
    if (done.replayed > 0) unit.afterCommit(() => this.needs.notifier.poke());
    await this.#store.advance(unit, replay.id, done.replayed, done.last);
    const after = { ...replay, replayed: replay.replayed + done.replayed };
    return done.replayed < this.#pace.chunk
      ? this.#end(unit, after, 'completed')
      : standingOf(after, 'chunk');
  };
}

const GONE: BulkReplayStanding = { step: 'end', status: 'gone', matched: 0, replayed: 0, remaining: 0 };

function standingOf(replay: BulkReplay, step: BulkReplayStep): BulkReplayStanding {
  const { status, matched, replayed } = replay;
  return { step, status, matched, replayed, remaining: remainingOf(replay) };
}

function rangeOf(replay: BulkReplay): ReplayRange {
  const { tenantId, subscriptionId, deliveryStatus: status, since, until, createdAt: endedBy } = replay;
  return { tenantId, subscriptionId, status, since, until, endedBy };
}
