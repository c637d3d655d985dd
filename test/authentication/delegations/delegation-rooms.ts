// Delegations and trusted issuers wired for real beside agents and tokens, over one database.

import { createDelegationRoutes } from '../../../src/authentication/delegations/delegation.routes.ts';
import {
  type DelegationRequest,
  DelegationService,
} from '../../../src/authentication/delegations/delegation.service.ts';
import { judgeDelegation } from '../../../src/authentication/delegations/delegation.ts';
import { DelegationExpiryService } from '../../../src/authentication/delegations/delegation-expiry.service.ts';
import { createTrustedIssuerRoutes } from '../../../src/authentication/trusted-issuers/trusted-issuer.routes.ts';
import { wireTrustedIssuers } from '../../../src/authentication/trusted-issuers/wire.ts';
import type { Database } from '../../../src/platform/database/database.ts';
import { newId } from '../../../src/platform/database/ids.ts';
import type { Transaction } from '../../../src/platform/database/transaction.ts';
import { createRooms } from '../../identity/agents/agent-rooms.ts';
import { PATIENCE } from '../../setup/patience.ts';
import { createTestPlatform } from '../../setup/platform.ts';
import type { createAccounts } from '../tokens/accounts.ts';

/** What an exchange asks for; its client is made. */
export type Sought = Omit<DelegationRequest, 'client'>;

/** Finds a delegation as an exchange does that waits for a change of it. @throws ServiceError as `judgeDelegation` */
export async function findForExchange(
  { delegations }: Pick<DelegationRooms, 'delegations'>,
  unit: Transaction,
  tenant: { readonly id: string },
  request: Sought,
) {
  const client = { id: newId(), version: '' };
  await unit.query(
    "INSERT INTO applications (id, tenant_id, name, scopes, grant_types) VALUES ($1, $2, 'exchanger', '{openid}', '{}')",
    [client.id, tenant.id],
  );
  const asked = { ...request, client, tenantId: tenant.id };
  const [candidate] = await delegations.findForExchanges(unit, [asked], 'waiting');
  return judgeDelegation(candidate, request);
}

export type DelegationRooms = ReturnType<typeof createDelegationRooms>;

/** @param options.allowedNetworks CIDR blocks beside public addresses for JWK sets; loopback unless said */
export function createDelegationRooms(
  database: Database,
  {
    allowedNetworks = ['127.0.0.0/8'],
    ...options
  }: { allowedNetworks?: string[]; accounts?: ReturnType<typeof createAccounts> } = {},
) {
  const rooms = createRooms(database, options);
  const platform = createTestPlatform(database, {
    ...rooms.platform,
    config: { ...rooms.platform.config, webhookAllowedNetworks: allowedNetworks },
  });
  const delegations = new DelegationService({ ...rooms, tokens: rooms.revocations });
  const trustedIssuers = wireTrustedIssuers(platform, rooms, PATIENCE.timeout);
  return {
    ...rooms,
    ...trustedIssuers,
    platform,
    delegations,
    delegationExpiry: new DelegationExpiryService({ ...rooms, delegations }),
    routes: [
      ...rooms.routes,
      ...createDelegationRoutes({ delegations }),
      ...createTrustedIssuerRoutes(trustedIssuers),
    ],
  };
}
