// All scenarios over one stage.
import { createDeliveries } from './deliveries.ts';
import { createDeliveryProcess, type Receiver } from './delivery-process.ts';
import { endings } from './endings.ts';
import { keyRotation } from './key-rotation.ts';
import { createPublishing, startPublishers } from './publishing.ts';
import { redemption } from './redemption.ts';
import { refreshing } from './refresh.ts';
import { createStage } from './stage.ts';

export const SCENARIOS = [
  'redemption',
  'refreshing',
  'endings',
  'deliveries',
  'keyRotation',
  'publishing',
] as const;
export type ScenarioName = (typeof SCENARIOS)[number];

export type Theatre = Awaited<ReturnType<typeof openTheatre>>;

/** @param alter the text that is sent instead of a statement, for defects that are planted */
export async function openTheatre(alter?: (text: string) => string) {
  const stage = await createStage(alter === undefined ? {} : { alter });
  const receivers = new Map<string, Receiver>();
  const processes = stage.databases.map((database) => createDeliveryProcess(database, receivers));
  const publishers = await startPublishers(stage.databases);
  return {
    stage,
    scenarios: {
      redemption,
      refreshing,
      endings,
      deliveries: createDeliveries(processes, receivers),
      keyRotation,
      publishing: createPublishing(publishers),
    },
    close: async () => {
      await publishers.close();
      await stage.close();
    },
  };
}
