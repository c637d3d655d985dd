// Wires revocation, client authentication, and the token endpoint with its grants.
import { BruteForceService } from '../../audit/brute-force.service.ts';
import type { FailureLimits } from '../../platform/http/wire.ts';
import { reasonOf } from '../../platform/logging.ts';
import type { Platform } from '../../platform/opening/platform.ts';
import { ClientAssertionService } from './client-assertion.service.ts';
import {
  type ClientAuthenticationNeeds,
  ClientAuthenticationService,
} from './client-authentication.service.ts';
import { type ClientCredentialsNeeds, ClientCredentialsService } from './client-credentials.service.ts';
import { CLIENT_CREDENTIALS } from './client-credentials.ts';
import { type ClientRecordNeeds, ClientRecordService } from './client-record.service.ts';
import { type RefreshNeeds, RefreshService } from './refresh.service.ts';
import { createSuccessorDeriver } from './refresh-successor.node.ts';
import { REFRESH_TOKEN } from './refresh-token.ts';
import { REVOCATION_CHANNEL, RevocationService } from './revocation.service.ts';
import { countTokens } from './token.metrics.ts';
import type { Grant } from './token-answer.ts';
import { type TokenEndpointNeeds, TokenEndpointService } from './token-endpoint.service.ts';

/** Wires the revocation feed. A process that accepts tokens calls `start`. */
export function wireRevocations({ database, log, openChannel, objectives }: Platform) {
  const channel = openChannel(REVOCATION_CHANNEL);
  return new RevocationService({
    database,
    clock: database.clock,
    notifier: channel,
    listen: channel.listen,
    onRead: (seconds) => objectives.note('revocation', seconds),
    onError: (error) =>
      log.warn(
        { event: 'revocations.read_failed', reason: reasonOf(error) },
        'revocations could not be read; each check asks the database',
      ),
    onReplaced: ({ tenantId, client_id, sub }) =>
      log.warn(
        { event: 'revocations.client_ended', tenant_id: tenantId, client_id, sub },
        'so many tokens of a client were revoked that all of its tokens have ended',
      ),
  });
}

/** Wires the authentication of clients. */
export function wireClients(
  { config, database, log, clock }: Platform,
  {
    limits,
    records,
    applications,
  }: Pick<ClientRecordNeeds, 'records'> & Pick<ClientAuthenticationNeeds, 'applications'> & FailureLimits,
) {
  const limit = config.rateLimit.clientFailures;
  const clientRecords = new ClientRecordService({ records, database, log });
  const assertions = new ClientAssertionService({ database, now: clock.now });
  const clients = new ClientAuthenticationService({
    applications,
    assertions,
    clientRecords,
    failures: limits.limitFailures('client', limit),
    bruteForce: new BruteForceService({ database, limit }),
  });
  return {
    clients,
    clientRecords,
    /** Writes the failures that were counted. Call it before the database closes. */
    closeClients: () => clientRecords.close(),
  };
}

/** Wires the token endpoint. @param rooms.grants grants of other rooms, by their `grant_type` */
export function wireTokenEndpoint(
  { config, database, registry }: Platform,
  {
    grants: others = [],
    ...rooms
  }: ClientCredentialsNeeds &
    Omit<RefreshNeeds, 'database' | 'successors'> &
    Pick<TokenEndpointNeeds, 'dpop'> & { grants?: Iterable<readonly [string, Grant]> },
) {
  const successors = createSuccessorDeriver(config);
  const grants = new Map<string, Grant>([
    [CLIENT_CREDENTIALS, new ClientCredentialsService(rooms).grant],
    [REFRESH_TOKEN, new RefreshService({ ...rooms, database, successors }).grant],
    ...others,
  ]);
  const tokenEndpoint = new TokenEndpointService({ ...rooms, grants });
  return countTokens(tokenEndpoint, { registry, grants: grants.keys() });
}
