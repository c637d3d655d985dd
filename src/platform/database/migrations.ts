// The list of migrations: the baseline creates the schema, later migrations add to it. Released entries stay unchanged.
import type { MigrationStep } from './migration-steps.ts';
import { platform } from './migrations/0001-platform.ts';
import { identity } from './migrations/0002-identity.ts';
import { authentication } from './migrations/0003-authentication.ts';
import { audit } from './migrations/0004-audit.ts';
import { events } from './migrations/0005-events.ts';
import { webhooks } from './migrations/0006-webhooks.ts';
import { deliveries } from './migrations/0007-deliveries.ts';
import { partitions } from './migrations/0008-partitions.ts';
import { statistics } from './migrations/0009-statistics.ts';
import { auditBeginning } from './migrations/0010-audit-beginning.ts';
import { auditTree, auditTreeByPosition, auditTreeBySize } from './migrations/0011-audit-tree.ts';
import { serviceRole } from './migrations/0012-service-role.ts';
import { deliveryKeysBySealingKey, deliverySignatures } from './migrations/0013-delivery-signatures.ts';
import { proofOfPossession } from './migrations/0014-proof-of-possession.ts';
import { streams } from './migrations/0015-streams.ts';
import { envelopes } from './migrations/0016-envelopes.ts';
import { directorySignatures } from './migrations/0017-directory-signatures.ts';
import { workloadIssuers } from './migrations/0018-workload-issuers.ts';
import { receipts } from './migrations/0019-receipts.ts';
import { agentOwners } from './migrations/0020-agent-owners.ts';
import { consoleSessions } from './migrations/0021-console.ts';
import { subscriptionFilters } from './migrations/0022-subscription-filters.ts';

/** `name` is that of the file. The database records it. */
export type Migration = { readonly name: string; readonly steps: readonly MigrationStep[] };

export const BASELINE: readonly Migration[] = [
  { name: '0001-platform', steps: [platform] },
  { name: '0002-identity', steps: [identity] },
  { name: '0003-authentication', steps: [authentication] },
  { name: '0004-audit', steps: [audit] },
  { name: '0005-events', steps: [events] },
  { name: '0006-webhooks', steps: [webhooks] },
  { name: '0007-deliveries', steps: [deliveries] },
  { name: '0008-partitions', steps: [partitions] },
  { name: '0009-statistics', steps: [statistics] },
];

export const MIGRATIONS: readonly Migration[] = [
  ...BASELINE,
  { name: '0010-audit-beginning', steps: [auditBeginning] },
  { name: '0011-audit-tree', steps: [auditTree, auditTreeBySize, auditTreeByPosition] },
  { name: '0012-service-role', steps: [serviceRole] },
  { name: '0013-delivery-signatures', steps: [deliverySignatures, deliveryKeysBySealingKey] },
  { name: '0014-proof-of-possession', steps: [proofOfPossession] },
  { name: '0015-streams', steps: [streams] },
  { name: '0016-envelopes', steps: [envelopes] },
  { name: '0017-directory-signatures', steps: [directorySignatures] },
  { name: '0018-workload-issuers', steps: [workloadIssuers] },
  { name: '0019-receipts', steps: [receipts] },
  { name: '0020-agent-owners', steps: [agentOwners] },
  { name: '0021-console', steps: [consoleSessions] },
  { name: '0022-subscription-filters', steps: [subscriptionFilters] },
];
