// Wires anchors: their management by tenants and, in a worker, the checks of their proofs.
import { promises as dns } from 'node:dns';
import { createAddressLookup } from '../../platform/egress/address.client.ts';
import { createGuardedAgent } from '../../platform/egress/guarded-agent.client.ts';
import type { Needs, Platform } from '../../platform/platform.ts';
import { createAnchorRoutes } from './anchor.routes.ts';
import { createAnchorService } from './anchor.service.ts';
import { createAnchorCheckService } from './anchor-check.service.ts';
import { createAnchorProgressService } from './anchor-progress.service.ts';
import { createProofLooker, type ProofLooker } from './proof.client.ts';

type Progress = Needs<typeof createAnchorProgressService, never>;

export function wireAnchors(
  { database }: Platform,
  rooms: Progress & Needs<typeof createAnchorService, 'database' | 'progress'>,
) {
  const anchors = createAnchorService({ ...rooms, database, progress: createAnchorProgressService(rooms) });
  return { anchors, routes: createAnchorRoutes({ anchors }) };
}

/** Wires the checks of a worker. @param looker a replacement for tests */
export function wireAnchorChecks(
  { config, database }: Platform,
  rooms: Progress & Needs<typeof createAnchorCheckService, 'database' | 'progress' | 'looker'>,
  looker?: ProofLooker,
) {
  const { looker: guarded, close } = openLooker(config);
  const anchorChecks = createAnchorCheckService({
    ...rooms,
    database,
    progress: createAnchorProgressService(rooms),
    looker: looker ?? guarded,
  });
  return { anchorChecks, close };
}

function openLooker({ anchors, ...config }: Platform['config']) {
  const { dnsServers, httpsPort } = anchors;
  const production = config.nodeEnv === 'production';
  const resolver = new dns.Resolver({ timeout: 2_500, tries: 2 });
  if (dnsServers.length > 0) resolver.setServers(dnsServers);
  // Domains of anchors are public. Addresses of internal networks are allowed in development only.
  const agent = createGuardedAgent({
    allowedNetworks: production ? [] : config.webhookAllowedNetworks,
    caFile: production ? undefined : config.webhookCaFile,
    insecureReceivers: config.insecureReceivers,
    lookup: createAddressLookup({ resolver, internalNames: !production }),
  });
  return { looker: createProofLooker({ agent, dnsServers, httpsPort }), close: () => agent.close() };
}

/** Ends the anchors of an agent that is deleted, in the caller's transaction. */
export { revokeAll as revokeAnchorsOfAgent } from './anchor.store.ts';

/** Lists the anchors that should have a workflow, and counts those whose check is late. */
export {
  countOverdue as countOverdueAnchors,
  listExpectedWorkflows as listAnchors,
} from './anchor-check.store.ts';
