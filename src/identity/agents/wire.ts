// Wires agents. The deletion of an agent also ends its keys and anchors.
import type { Needs, Platform } from '../../platform/platform.ts';
import { revokeAnchorsOfAgent } from '../anchors/wire.ts';
import { releaseKeysOfAgent } from '../keys/wire.ts';
import { createAgentRoutes } from './agent.routes.ts';
import { createAgentService } from './agent.service.ts';
import { createSelfRoutes } from './self.routes.ts';
import { createSelfService } from './self.service.ts';

export function wireAgents(
  { database }: Platform,
  rooms: Needs<typeof createAgentService, 'database' | 'releaseKeys' | 'revokeAnchors'>,
) {
  const agents = createAgentService({
    ...rooms,
    database,
    releaseKeys: releaseKeysOfAgent,
    revokeAnchors: revokeAnchorsOfAgent,
  });
  return { agents, routes: createAgentRoutes({ agents }) };
}

export function wireSelf({ database }: Platform, rooms: Needs<typeof createSelfService, 'database'>) {
  return { routes: createSelfRoutes({ self: createSelfService({ ...rooms, database }) }) };
}
