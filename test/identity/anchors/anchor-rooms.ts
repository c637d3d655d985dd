// Anchors wired for real over one database, with the checks of their proofs, and domains on loopback.

import type { ProofLooker } from '../../../src/identity/anchors/proof.client.ts';
import { wireAnchorChecks } from '../../../src/identity/anchors/wire.ts';
import type { Database } from '../../../src/platform/database/database.ts';
import { createRooms } from '../agents/agent-rooms.ts';
import { startProofPlaces } from './proof-places.ts';

export async function createAnchorRooms(database: Database) {
  const rooms = createRooms(database);
  const places = await startProofPlaces();
  /** Checks with another looker than the one for the domains on loopback. */
  const checksWith = (looker: ProofLooker) => wireAnchorChecks(rooms.platform, rooms, looker).anchorChecks;
  return { ...rooms, places, checksWith, checks: checksWith(places.looker) };
}
