// Token exchange wired for real beside delegations, trusted issuers and tokens, over one database; keys of issuers come over a socket.

import { createExchangePartiesService } from '../../../src/authentication/token-exchange/exchange-parties.service.ts';
import { createTokenExchangeService } from '../../../src/authentication/token-exchange/token-exchange.service.ts';
import { createJwksFetcher } from '../../../src/authentication/trusted-issuers/jwks.client.ts';
import { createKeySetCache } from '../../../src/authentication/trusted-issuers/key-set.service.ts';
import { createSubjectTokenService } from '../../../src/authentication/trusted-issuers/subject-token.service.ts';
import { TOKEN_EXCHANGE_GRANT } from '../../../src/identity/applications/application.ts';
import type { Database } from '../../../src/platform/database/database.ts';
import { createGuardedAgent } from '../../../src/platform/egress/guarded-agent.client.ts';
import { createDelegationRooms } from '../delegations/delegation-rooms.ts';
import type { createAccounts } from '../tokens/accounts.ts';

export type ExchangeRooms = ReturnType<typeof createExchangeRooms>;

/** Wires the rooms, and adds the grant to the accounts' token endpoint. Keys are fetched from loopback too. */
export function createExchangeRooms(
  database: Database,
  options: { accounts?: ReturnType<typeof createAccounts>; now?: (() => number) | undefined } = {},
) {
  const rooms = createDelegationRooms(database, options);
  const { tokens, delegations, revocations, audit, events } = rooms;
  const agent = createGuardedAgent({ allowedNetworks: ['127.0.0.0/8'] });
  const keySets = createKeySetCache({ fetch: createJwksFetcher({ agent, deadline: 1_000 }) });
  const subjects = createSubjectTokenService({ database, keySets, now: options.now });
  const exchange = createTokenExchangeService({
    database,
    clients: rooms.clients,
    parties: createExchangePartiesService({ tokens, subjects }),
    tokens,
    delegations,
    revocations,
    records: rooms.clientRecords,
    audit,
    events,
    accessTokenLifetime: 300,
    now: options.now,
  });
  rooms.grants.set(TOKEN_EXCHANGE_GRANT, exchange.grant);
  return { ...rooms, closeExchange: () => agent.close() };
}
