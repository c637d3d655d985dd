// The wiring of anchors: as their tenants manage them, and, in a worker, the looks for their proofs. Like compose.ts it must hold no rule.
import { promises as dns } from 'node:dns';
import type { AgentService } from '../../identity/agents/agent.service.ts';
import { createAnchorService } from '../../identity/anchors/anchor.service.ts';
import { createAnchorCheckService } from '../../identity/anchors/anchor-check.service.ts';
import { createAnchorProgressService } from '../../identity/anchors/anchor-progress.service.ts';
import { createProofLooker } from '../../identity/anchors/proof.client.ts';
import type { Config } from '../../platform/config.ts';
import { createAddressLookup } from '../../platform/egress/address.client.ts';
import { createGuardedAgent } from '../../platform/egress/guarded-agent.client.ts';
import type { Core } from './compose.ts';

type Parts = Pick<Core, 'database' | 'audit' | 'events' | 'commands'> & { agents: AgentService };

/** Wires what tenants do with anchors. */
export function composeAnchors({ database, audit, events, commands, agents }: Parts) {
  return createAnchorService({
    database,
    agents,
    progress: createAnchorProgressService({ audit, events, commands }),
  });
}

/** Wires the looks for proofs. */
export function composeAnchorChecks(
  config: Config,
  { database, audit, events, commands, tenants, agents }: Parts & Pick<Core, 'tenants'>,
) {
  const dnsServers = config.anchors.dnsServers;
  const production = config.nodeEnv === 'production';
  const resolver = new dns.Resolver({ timeout: 2_500, tries: 2 });
  if (dnsServers.length > 0) resolver.setServers(dnsServers);
  // An anchor is a name of the internet: networks inside are admitted for development only.
  const agent = createGuardedAgent({
    allowedNetworks: production ? [] : config.webhookAllowedNetworks,
    caFile: production ? undefined : config.webhookCaFile,
    insecureReceivers: config.insecureReceivers,
    lookup: createAddressLookup({ resolver, internalNames: !production }),
  });
  const anchorChecks = createAnchorCheckService({
    database,
    tenants,
    agents,
    progress: createAnchorProgressService({ audit, events, commands }),
    looker: createProofLooker({ agent, dnsServers, httpsPort: config.anchors.httpsPort }),
  });
  return { anchorChecks, close: () => agent.close() };
}
