// Wires the checks of anchors' proofs in a worker.
import { promises as dns } from 'node:dns';
import { createAddressLookup } from '../../platform/egress/address.client.ts';
import { createGuardedAgent } from '../../platform/egress/guarded-agent.client.ts';
import type { Platform } from '../../platform/opening/platform.ts';
import { type AnchorCheckNeeds, AnchorCheckService } from './anchor-check.service.ts';
import { type AnchorProgressNeeds, AnchorProgressService } from './anchor-progress.service.ts';
import { createProofLooker, type ProofLooker } from './proof.client.ts';

/** Wires the checks of a worker. @param looker a replacement for tests */
export function wireAnchorChecks(
  { config, database }: Platform,
  rooms: AnchorProgressNeeds & Pick<AnchorCheckNeeds, 'tenants' | 'agents'>,
  looker?: ProofLooker,
) {
  const { looker: guarded, close } = openLooker(config);
  const anchorChecks = new AnchorCheckService({
    ...rooms,
    database,
    progress: new AnchorProgressService(rooms),
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
