// Receipts on the engine of entities, with the runner of commands and a worker started. Deliveries end when a test says
// so.
import { createAccessReceiptActivities } from '../../activities/access-receipt.ts';
import type { Database } from '../../src/platform/database/database.ts';
import { newId } from '../../src/platform/database/ids.ts';
import { WorkflowCommandService } from '../../src/platform/temporal/workflow-command.service.ts';
import { wireRecords } from '../../src/webhooks/intake/wire.ts';
import { ReceiptService } from '../../src/webhooks/receipts/receipt.service.ts';
import { ReceiptOpening } from '../../src/webhooks/receipts/receipt-opening.service.ts';
import type { AccessReceiptResult, AccessReceiptState } from '../../workflows/access-receipt.ts';
import { createTestPlatform } from '../setup/platform.ts';
import { createTenantContext, insertSubscription } from '../webhooks/intake/fixture.ts';
import { eventually } from './delivery-engine.ts';
import { createEntityEngine } from './entity-engine.ts';

export type ReceiptEngine = Awaited<ReturnType<typeof createReceiptEngine>>;

function wire(database: Database) {
  const platform = createTestPlatform(database);
  const commands = new WorkflowCommandService();
  const records = wireRecords(platform, { receipts: new ReceiptOpening({ commands }) });
  return { records, receipts: new ReceiptService({ database, records, accessTokenLifetime: 300 }) };
}

/** @param options.virtual gives the database a clock that a test can advance */
export async function createReceiptEngine({ virtual = false }: { virtual?: boolean } = {}) {
  const engine = await createEntityEngine({
    workflow: 'accessReceipt',
    virtual,
    wire,
    activities: createAccessReceiptActivities,
    describe: ({ receipts }) => receipts.describe,
  });
  const { database, services } = engine;
  const context = await createTenantContext(database);
  engine.startRunner();
  await engine.startWorker();

  return {
    ...engine,
    context,

    /**
     * The news of a suspension, for so many subscriptions.
     * @returns the receipt's id, and those of the subscriptions
     */
    suspend: async (receivers: number, { active = true }: { active?: boolean } = {}) => {
      const agentId = newId();
      const subscriptions = await Promise.all(
        Array.from({ length: receivers }, () =>
          insertSubscription(database, context, { filters: ['admin.agent.suspended'], active }),
        ),
      );
      const data = { agent_id: agentId, name: 'Robot', status: 'suspended', capabilities: [], scopes: [] };
      const [emitted] = await database.transaction({}, (unit) =>
        services.records.write(unit, context, { events: [{ type: 'admin.agent.suspended', data }] }),
      );
      return { id: emitted?.eventId ?? '', agentId, subscriptions };
    },

    /** Ends the deliveries of a receipt, or that of one subscription. */
    end: async (id: string, status: 'delivered' | 'failed' | 'canceled', subscriptionId?: string) => {
      await database.query(
        `UPDATE deliveries SET status = $2, completed_at = now()
         WHERE event_row = $1 AND status = 'pending' AND ($3::uuid IS NULL OR subscription_id = $3)`,
        [id, status, subscriptionId ?? null],
      );
    },

    waits: (id: string, acknowledged = 0) =>
      engine.stands<AccessReceiptState>(
        id,
        (state) => state.doing === 'waiting' && state.acknowledged === acknowledged,
        'the workflow to wait',
      ),

    /** The result of the workflow, once it has been started and has ended. */
    endOf: (id: string) =>
      eventually(
        (): Promise<AccessReceiptResult | undefined> =>
          engine
            .workflow(id)
            .result()
            .catch(() => undefined),
        'its end',
      ),
  };
}
