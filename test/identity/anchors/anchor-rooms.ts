// Anchors wired for real over one database, with the looks for their proofs, and domains on loopback.

import { createEventService } from '../../../src/events/event.service.ts';
import { createAnchorCheckService } from '../../../src/identity/anchors/anchor-check.service.ts';
import { createAnchorProgressService } from '../../../src/identity/anchors/anchor-progress.service.ts';
import type { ProofLooker } from '../../../src/identity/anchors/proof.client.ts';
import type { Database } from '../../../src/platform/database/database.ts';
import { createWorkflowCommandService } from '../../../src/platform/temporal/workflow-command.service.ts';
import { createRooms } from '../agents/agent-rooms.ts';
import { startProofPlaces } from './proof-places.ts';

export async function createAnchorRooms(database: Database) {
  const rooms = createRooms(database);
  const places = await startProofPlaces();
  const { audit, tenants, agents } = rooms;
  /** Looks with another looker than the one for the domains on loopback. */
  const checksWith = (looker: ProofLooker) =>
    createAnchorCheckService({
      database,
      tenants,
      agents,
      progress: createAnchorProgressService({
        audit,
        events: createEventService({ notifier: { poke: () => undefined } }),
        commands: createWorkflowCommandService(),
      }),
      looker,
    });
  return { ...rooms, places, checksWith, checks: checksWith(places.looker) };
}
