// The activities of retention. Each calls one use case with a heartbeat. A repeated purge finds fewer rows; a repeated
// count of a day starts again.
import type { RetentionService } from '../src/operations/retention/retention.service.ts';
import { currentPulse } from './pulse.ts';

export function createRetentionActivities({
  retention,
}: {
  retention: Pick<
    RetentionService,
    'makePartitions' | 'expireDeliveries' | 'countAccounts' | 'dropPartitions' | 'purgeNames' | 'purge'
  >;
}) {
  return {
    makePartitions: retention.makePartitions,
    expireDeliveries: () => retention.expireDeliveries(currentPulse()),
    countAccounts: () => retention.countAccounts(currentPulse()),
    dropPartitions: () => retention.dropPartitions(currentPulse()),
    listPurges: async (): Promise<string[]> => retention.purgeNames(),
    purge: (name: string, place?: string) => retention.purge(name, currentPulse(), place),
  };
}

export type RetentionActivities = ReturnType<typeof createRetentionActivities>;
