// The activities of retention. Thin: they give the service a heartbeat and the signal to stop. Repeating one does no harm: what is gone is
// gone, and what is counted is counted again.
import { Context } from '@temporalio/activity';
import type { Pulse, RetentionService } from '../src/operations/retention/retention.service.ts';
import type { StepResult } from '../src/operations/retention/retention.ts';

export function createRetentionActivities({
  retention,
}: {
  retention: Pick<
    RetentionService,
    'makePartitions' | 'expireDeliveries' | 'countAccounts' | 'dropPartitions' | 'purgeNames' | 'purge'
  >;
}) {
  return {
    /** Makes the next days' partitions. */
    makePartitions: (): Promise<StepResult> => retention.makePartitions(),

    /** Ends deliveries that are too old to wait any longer. */
    expireDeliveries: (): Promise<StepResult> => retention.expireDeliveries(pulse()),

    /** Counts what became of the deliveries of the days that are due. */
    countAccounts: (): Promise<StepResult> => retention.countAccounts(pulse()),

    /** Drops the partitions of days that are too old. */
    dropPartitions: (): Promise<StepResult> => retention.dropPartitions(pulse()),

    /** What else is purged, in order. */
    listPurges: async (): Promise<string[]> => retention.purgeNames(),

    /** Purges one of them. */
    purge: (name: string): Promise<StepResult> => retention.purge(name, pulse()),
  };
}

export type RetentionActivities = ReturnType<typeof createRetentionActivities>;

function pulse(): Pulse {
  const { heartbeat, cancellationSignal } = Context.current();
  return { beat: () => heartbeat(), signal: cancellationSignal };
}
