// The wiring of token exchange: trusted issuers, whose keys are fetched, and the grant. Like compose.ts it must hold no rule of its own.
import type { Logger } from 'pino';
import type { DelegationService } from '../../authentication/delegations/delegation.service.ts';
import { createExchangePartiesService } from '../../authentication/token-exchange/exchange-parties.service.ts';
import { createTokenExchangeService } from '../../authentication/token-exchange/token-exchange.service.ts';
import { createJwksFetcher } from '../../authentication/trusted-issuers/jwks.client.ts';
import { createKeySetCache } from '../../authentication/trusted-issuers/key-set.service.ts';
import { createSubjectTokenService } from '../../authentication/trusted-issuers/subject-token.service.ts';
import { createTrustedIssuerService } from '../../authentication/trusted-issuers/trusted-issuer.service.ts';
import type { Config } from '../../platform/config.ts';
import { createGuardedAgent } from '../../platform/egress/guarded-agent.client.ts';
import { reasonOf } from '../../platform/logging.ts';
import type { Core } from './compose.ts';
import type { Authentication } from './compose-tokens.ts';

/** Wires the grant, and the issuers that tenants trust. @param authentication tokens and how clients authenticate */
export function composeExchange(
  config: Config,
  { database, audit, events, revocations }: Core,
  {
    authentication: { tokens, clients, clientRecords },
    delegations,
    logger,
  }: { authentication: Authentication; delegations: DelegationService; logger: Logger },
) {
  // Other issuers are on the internet: networks inside are admitted for development only.
  const production = config.nodeEnv === 'production';
  const agent = createGuardedAgent({
    allowedNetworks: production ? [] : config.webhookAllowedNetworks,
    internalNames: !production,
  });
  const keySets = createKeySetCache({
    fetch: createJwksFetcher({ agent }),
    onFailure: (error, { id }) =>
      logger.warn(
        { reason: reasonOf(error), trusted_issuer: id },
        'the keys of a trusted issuer cannot be had',
      ),
  });
  const exchange = createTokenExchangeService({
    database,
    clients,
    parties: createExchangePartiesService({
      tokens,
      subjects: createSubjectTokenService({ database, keySets }),
    }),
    tokens,
    delegations,
    revocations,
    records: clientRecords,
    audit,
    events,
    accessTokenLifetime: config.accessTokenLifetime,
  });
  const trustedIssuers = createTrustedIssuerService({
    database,
    audit,
    admittedNetworks: agent.admittedNetworks,
  });
  return { exchange, trustedIssuers, close: () => agent.close() };
}
