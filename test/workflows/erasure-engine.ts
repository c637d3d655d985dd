// The ends of tenants on the engine of entities, with the runner of commands and a worker started.
import type { Client } from '@temporalio/client';
import { createTenantErasureActivities } from '../../activities/tenant-erasure.ts';
import { TenantErasureService } from '../../src/operations/erasure/tenant-erasure.service.ts';
import {
  createTenantHistories,
  type TenantHistories,
} from '../../src/operations/erasure/tenant-history.client.ts';
import type { TenantErasureState } from '../../workflows/tenant-erasure.ts';
import { createSealing } from '../audit/sealing.ts';
import { createOperatorRooms, type OperatorRooms } from '../operations/operators/operator-rooms.ts';
import { createEntityEngine } from './entity-engine.ts';

export type ErasureEngine = Awaited<ReturnType<typeof createErasureEngine>>;

const INTENT = { operator: 'jo@ops', reason: 'the contract has ended' };

type Services = { readonly rooms: OperatorRooms; readonly tenantErasure: TenantErasureService };

export async function createErasureEngine() {
  let client: Client | undefined;
  const histories: TenantHistories = {
    remove: async (id, signal) =>
      client === undefined ? 0 : createTenantHistories({ client }).remove(id, signal),
  };
  const engine = await createEntityEngine<Services>({
    workflow: 'tenantErasure',
    virtual: false,
    wire: (database) => {
      const rooms = createOperatorRooms(database);
      return { rooms, tenantErasure: new TenantErasureService({ ...rooms, database, histories }) };
    },
    activities: createTenantErasureActivities,
    describe:
      ({ tenantErasure }) =>
      ({ tenantId }) =>
        tenantErasure.describe({ tenantId }),
  });
  client = engine.client;
  const { rooms } = engine.services;
  const sealing = createSealing(engine.database);
  engine.startRunner();
  await engine.startWorker();
  let tenants = 0;

  return {
    ...engine,
    rooms,

    /** Makes a tenant and ends it. */
    end: async () => {
      tenants += 1;
      const { id, slug } = await rooms.tenants.create({ slug: `tenant-${tenants}` });
      await rooms.ends.end(INTENT, slug);
      return { id, slug };
    },

    restore: (slug: string) => rooms.ends.restore(INTENT, slug),

    /** The state of the workflow, once it waits. */
    waits: (id: string) =>
      engine.stands<TenantErasureState>(id, ({ doing }) => doing === 'waiting', 'the workflow to wait'),

    /** The 30 days are over, and the workflow reads that. */
    letTimePass: async (id: string) => {
      await sealing.sealAll();
      await engine.database.query(
        "UPDATE tenant_ends SET erase_at = now() - interval '1 second' WHERE tenant_id = $1",
        [id],
      );
      await engine.workflow(id).signal('changed');
    },
  };
}
