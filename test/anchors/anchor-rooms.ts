// Anchors wired for real over one database, with the looks for their proofs, and domains on loopback.
import { createAnchorCheckService } from '../../src/anchors/anchor-check.service.ts';
import { createAnchorCheckStore } from '../../src/anchors/anchor-check.store.ts';
import { createAnchorProgressService } from '../../src/anchors/anchor-progress.service.ts';
import { createAnchorTurnStore } from '../../src/anchors/anchor-turn.store.ts';
import type { ProofLooker } from '../../src/anchors/proof.looker.ts';
import type { Database } from '../../src/database/database.ts';
import { createEventService } from '../../src/events/event.service.ts';
import { createEventStore } from '../../src/events/event.store.ts';
import { createWorkflowCommandService } from '../../src/temporal/workflow-command.service.ts';
import { createWorkflowCommandStore } from '../../src/temporal/workflow-command.store.ts';
import { createRooms } from '../agents/agent-rooms.ts';
import { startProofPlaces } from './proof-places.ts';

export async function createAnchorRooms(database: Database) {
  const rooms = createRooms(database);
  const places = await startProofPlaces();
  const { audit, tenants, agents } = rooms;
  /** Looks with another looker than the one for the domains on loopback. */
  const checksWith = (looker: ProofLooker) =>
    createAnchorCheckService({
      store: createAnchorCheckStore(),
      turns: createAnchorTurnStore(),
      database,
      tenants,
      agents,
      progress: createAnchorProgressService({
        audit,
        events: createEventService({ store: createEventStore(), notifier: { poke: () => undefined } }),
        commands: createWorkflowCommandService({ store: createWorkflowCommandStore() }),
      }),
      looker,
    });
  return { ...rooms, places, checksWith, checks: checksWith(places.looker) };
}
