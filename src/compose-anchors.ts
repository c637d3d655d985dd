// The wiring of anchors: as their tenants manage them, and, in a worker, the looks for their proofs. Like compose.ts it must hold no rule.
import { promises as dns } from 'node:dns';
import type { AgentService } from './agents/agent.service.ts';
import { createAnchorService } from './anchors/anchor.service.ts';
import { createAnchorStore } from './anchors/anchor.store.ts';
import { createAnchorCheckService } from './anchors/anchor-check.service.ts';
import { createAnchorCheckStore } from './anchors/anchor-check.store.ts';
import { createAnchorProgressService } from './anchors/anchor-progress.service.ts';
import { createAnchorTurnStore } from './anchors/anchor-turn.store.ts';
import { createProofLooker } from './anchors/proof.looker.ts';
import type { Core } from './compose.ts';
import type { Config } from './config.ts';
import { createAddressLookup } from './webhooks/egress/address.resolver.ts';
import { createGuardedAgent } from './webhooks/egress/guarded.agent.ts';

type Parts = Pick<Core, 'database' | 'audit' | 'events' | 'commands'> & { agents: AgentService };

/** Wires what tenants do with anchors. */
export function composeAnchors({ database, audit, events, commands, agents }: Parts) {
  return createAnchorService({
    store: createAnchorStore(),
    checks: createAnchorCheckStore(),
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
    store: createAnchorCheckStore(),
    turns: createAnchorTurnStore(),
    database,
    tenants,
    agents,
    progress: createAnchorProgressService({ audit, events, commands }),
    looker: createProofLooker({ agent, dnsServers, httpsPort: config.anchors.httpsPort }),
  });
  return { anchorChecks, close: () => agent.close() };
}
