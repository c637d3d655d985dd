// The steps of a bulk replay: each replays a chunk and stores its position in one transaction, so that a restart
// neither replays a delivery twice nor omits one.

import { serviceContext } from '../../audit/audit.ts';
import type { RecordService } from '../../events/record.service.ts';
import type { Database } from '../../platform/database/database.ts';
import { newId } from '../../platform/database/ids.ts';
import type { Transaction } from '../../platform/database/transaction.ts';
import type { ReplayRange, ReplayService } from '../deliveries/replay.service.ts';
import type { EndpointService } from '../endpoints/endpoint.service.ts';
import { describeBulkReplay } from './bulk-replay.service.ts';
import type { BulkReplayName } from './bulk-replay.store.ts';
import * as bulkReplayStore from './bulk-replay.store.ts';
import { type BulkReplay, type BulkReplayStatus, remainingOf } from './bulk-replay.ts';

/** The next step of the workflow; `chunk`: a chunk was replayed, and there may be more. */
export type BulkReplayStep = 'chunk' | 'wait_for_relay' | 'wait_for_subscription' | 'end';

/** The progress of a bulk replay: `gone` when it does not exist any more. */
export type BulkReplayStanding = {
  readonly step: BulkReplayStep;
  readonly status: BulkReplayStatus | 'gone';
  readonly matched: number;
  readonly replayed: number;
  readonly remaining: number;
};

/** Deliveries that one step replays, and how many may wait for a relay before the next: the outbox must not fill up. */
const PACE = { chunk: 250, waiting: 500 } as const;

/** @param options.pace size and limits of one step */
export function createBulkReplayStepService({
  store = bulkReplayStore,
  database,
  replays,
  endpoints,
  records,
  pace = PACE,
}: {
  /** Replaced in tests of faults. */
  store?: typeof bulkReplayStore | undefined;
  database: Pick<Database, 'transaction'>;
  replays: ReplayService;
  endpoints: Pick<EndpointService, 'read'>;
  records: Pick<RecordService, 'write'>;
  pace?: { readonly chunk: number; readonly waiting: number } | undefined;
}) {
  const contextOf = ({ tenantId }: BulkReplay) => serviceContext({ id: tenantId }, newId());

  const end = async (
    unit: Transaction,
    recovery: BulkReplay,
    status: 'completed' | 'canceled',
  ): Promise<BulkReplayStanding> => {
    const reason = status === 'canceled' ? 'subscription_deleted' : null;
    await store.end(unit, recovery.id, status, reason);
    const more = reason === null ? {} : { reason };
    await records.write(unit, contextOf(recovery), { audit: [describeBulkReplay(status, recovery, more)] });
    return standingOf({ ...recovery, status }, 'end');
  };

  const replayChunk = async (unit: Transaction, recovery: BulkReplay): Promise<BulkReplayStanding> => {
    const options = { after: recovery.nextAfter, limit: pace.chunk };
    const done = await replays.replay(unit, rangeOf(recovery), options);
    await store.advance(unit, recovery.id, done);
    const after = { ...recovery, replayed: recovery.replayed + done.replayed };
    return done.replayed < pace.chunk ? end(unit, after, 'completed') : standingOf(after, 'chunk');
  };

  return {
    /**
     * Replays the next deliveries, unless earlier ones still wait for a relay or the subscription is not active; ends
     * the bulk replay when there are no more, or when the subscription is deleted.
     */
    advance: (name: BulkReplayName): Promise<BulkReplayStanding> =>
      database.transaction({}, async (unit) => {
        const recovery = await store.lock(unit, name);
        if (recovery === undefined) return GONE;
        if (recovery.status !== 'running') return standingOf(recovery, 'end');
        const endpoint = (await endpoints.read(unit, [recovery.subscriptionId])).get(recovery.subscriptionId);
        if (endpoint === undefined || endpoint.deleted) return end(unit, recovery, 'canceled');
        if (!endpoint.active) return standingOf(recovery, 'wait_for_subscription');
        const waiting = await replays.waiting(unit, recovery, pace.waiting);
        if (waiting >= pace.waiting) return standingOf(recovery, 'wait_for_relay');
        return replayChunk(unit, recovery);
      }),
  };
}

export type BulkReplayStepService = ReturnType<typeof createBulkReplayStepService>;

const GONE: BulkReplayStanding = { step: 'end', status: 'gone', matched: 0, replayed: 0, remaining: 0 };

function standingOf(recovery: BulkReplay, step: BulkReplayStep): BulkReplayStanding {
  const { status, matched, replayed } = recovery;
  return { step, status, matched, replayed, remaining: remainingOf(recovery) };
}

function rangeOf(recovery: BulkReplay): ReplayRange {
  const { tenantId, subscriptionId, deliveryStatus: status, since, until, createdAt: endedBy } = recovery;
  return { tenantId, subscriptionId, status, since, until, endedBy };
}
