// The activities of retention: each calls one use case with a heartbeat. A repeated purge finds no removed row; a
// repeated count of a day starts again.
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

    /** Ends deliveries that have waited too long. */
    expireDeliveries: (): Promise<StepResult> => retention.expireDeliveries(pulse()),

    /** Counts the outcomes of the deliveries of the days that are due. */
    countAccounts: (): Promise<StepResult> => retention.countAccounts(pulse()),

    /** Drops the partitions of days that are too old. */
    dropPartitions: (): Promise<StepResult> => retention.dropPartitions(pulse()),

    /** The names of the other purges, in order. */
    listPurges: async (): Promise<string[]> => retention.purgeNames(),

    /** Runs the purge of this name. */
    purge: (name: string): Promise<StepResult> => retention.purge(name, pulse()),
  };
}

export type RetentionActivities = ReturnType<typeof createRetentionActivities>;

function pulse(): Pulse {
  const { heartbeat, cancellationSignal } = Context.current();
  return { beat: () => heartbeat(), signal: cancellationSignal };
}
