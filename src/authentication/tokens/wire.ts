// Wires tokens: issuing, revocation, client authentication, and the token endpoint with its grants.
import { createBruteForceService } from '../../audit/brute-force.service.ts';
import type { Limits } from '../../platform/http/wire.ts';
import { reasonOf } from '../../platform/logging.ts';
import type { Needs, Platform } from '../../platform/platform.ts';
import { createClientAssertionService } from './client-assertion.service.ts';
import * as clientAssertionStore from './client-assertion.store.ts';
import { createClientAuthenticationService } from './client-authentication.service.ts';
import { createClientCredentialsService } from './client-credentials.service.ts';
import { CLIENT_CREDENTIALS } from './client-credentials.ts';
import { createClientRecordService } from './client-record.service.ts';
import { createIntrospectionRoutes } from './introspection.routes.ts';
import { createIntrospectionService } from './introspection.service.ts';
import { createRefreshService } from './refresh.service.ts';
import { createSuccessorDeriver } from './refresh-successor.node.ts';
import * as refreshTokenStore from './refresh-token.store.ts';
import { REFRESH_TOKEN } from './refresh-token.ts';
import { createRevocationService, REVOCATION_CHANNEL } from './revocation.service.ts';
import * as revocationStore from './revocation.store.ts';
import { countTokens } from './token.metrics.ts';
import { createTokenRoutes } from './token.routes.ts';
import { createTokenService } from './token.service.ts';
import type { Grant } from './token-answer.ts';
import { createTokenEndpointService } from './token-endpoint.service.ts';
import { createUserinfoRoutes } from './userinfo.routes.ts';
import { createUserinfoService } from './userinfo.service.ts';

/** Wires the revocation feed. A process that accepts tokens calls `start`. */
export function wireRevocations(
  { database, log, openChannel }: Platform,
  rooms: Pick<Parameters<typeof createRevocationService>[0], 'onRead'> = {},
) {
  const channel = openChannel(REVOCATION_CHANNEL);
  return createRevocationService({
    ...rooms,
    database,
    notifier: channel,
    listen: channel.listen,
    onError: (error) =>
      log.warn(
        { event: 'revocations.read_failed', reason: reasonOf(error) },
        'revocations could not be read; each check asks the database',
      ),
  });
}

export function wireTokens(
  { config, clock }: Platform,
  rooms: Needs<typeof createTokenService, 'accessTokenLifetime' | 'refreshTokenLifetime' | 'now'>,
) {
  const { accessTokenLifetime, refreshTokenLifetime } = config;
  return createTokenService({ ...rooms, accessTokenLifetime, refreshTokenLifetime, now: clock.now });
}

/** Wires the authentication of clients. */
export function wireClients(
  { config, database, log, clock }: Platform,
  {
    limits,
    ...rooms
  }: Needs<typeof createClientRecordService, 'database' | 'log'> &
    Pick<Parameters<typeof createClientAuthenticationService>[0], 'applications'> & {
      limits: Pick<Limits, 'limitFailures'>;
    },
) {
  const limit = config.rateLimit.clientFailures;
  const clientRecords = createClientRecordService({ ...rooms, database, log });
  const assertions = createClientAssertionService({ database, log, now: clock.now });
  const clients = createClientAuthenticationService({
    ...rooms,
    assertions,
    clientRecords,
    failures: limits.limitFailures('client', limit),
    bruteForce: createBruteForceService({ database, limit }),
  });
  return {
    clients,
    clientRecords,
    /** Writes the failures that were counted. Call it before the database closes. */
    close: async () => {
      await Promise.allSettled([clientRecords.close(), assertions.close()]);
    },
  };
}

/** Wires the token endpoint. @param rooms.grants grants of other rooms, by their `grant_type` */
export function wireTokenEndpoint(
  { config, database, registry }: Platform,
  {
    grants: others = [],
    ...rooms
  }: Needs<typeof createClientCredentialsService, never> &
    Needs<typeof createRefreshService, 'database' | 'successors'> &
    Needs<typeof createIntrospectionService, 'database'> &
    Needs<typeof createTokenEndpointService, 'grants'> & {
      grants?: Iterable<readonly [string, Grant]>;
    },
) {
  const credentials = createClientCredentialsService(rooms);
  const refresh = createRefreshService({ ...rooms, database, successors: createSuccessorDeriver(config) });
  const grants = new Map<string, Grant>([
    [CLIENT_CREDENTIALS, credentials.grant],
    [REFRESH_TOKEN, refresh.grant],
    ...others,
  ]);
  const tokenEndpoint = createTokenEndpointService({ ...rooms, grants });
  const introspection = createIntrospectionService({ ...rooms, database });
  return {
    tokenEndpoint,
    introspection,
    routes: [
      ...createTokenRoutes({
        tokenEndpoint: countTokens(tokenEndpoint, { registry, grants: grants.keys() }),
      }),
      ...createIntrospectionRoutes({ introspection }),
    ],
  };
}

export function wireUserinfo(rooms: Needs<typeof createUserinfoService, never>) {
  return { routes: createUserinfoRoutes({ userinfo: createUserinfoService(rooms) }) };
}

/** Purges of old tokens. Retention runs them. */
export const purgesOfTokens = {
  'refresh tokens': refreshTokenStore.purge,
  'client assertions': clientAssertionStore.purge,
  revocations: revocationStore.purge,
};
