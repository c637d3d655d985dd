// The activities of retention. Each calls one use case with a heartbeat. A repeated purge finds fewer rows; a repeated
// count of a day starts again.
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
    makePartitions: (): Promise<StepResult> => retention.makePartitions(),

    expireDeliveries: (): Promise<StepResult> => retention.expireDeliveries(pulse()),

    countAccounts: (): Promise<StepResult> => retention.countAccounts(pulse()),

    dropPartitions: (): Promise<StepResult> => retention.dropPartitions(pulse()),

    listPurges: async (): Promise<string[]> => retention.purgeNames(),

    purge: (name: string): Promise<StepResult> => retention.purge(name, pulse()),
  };
}

export type RetentionActivities = ReturnType<typeof createRetentionActivities>;

function pulse(): Pulse {
  const { heartbeat, cancellationSignal } = Context.current();
  return { heartbeat: () => heartbeat(), signal: cancellationSignal };
}
