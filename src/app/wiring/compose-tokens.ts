// The wiring of authentication: clients, grants, tokens. Like compose.ts it must hold no rule of its own.

import type { Logger } from 'pino';
import { createBruteForceService } from '../../audit/brute-force.service.ts';
import { createAuthenticationFailureService } from '../../authentication/challenges/authentication-failure.service.ts';
import { createDpopService } from '../../authentication/dpop/dpop.service.ts';
import { createProofVerifier } from '../../authentication/dpop/dpop-proof.service.ts';
import { createClientAssertionService } from '../../authentication/tokens/client-assertion.service.ts';
import { createClientAuthenticationService } from '../../authentication/tokens/client-authentication.service.ts';
import { createClientCredentialsService } from '../../authentication/tokens/client-credentials.service.ts';
import { CLIENT_CREDENTIALS } from '../../authentication/tokens/client-credentials.ts';
import { createClientRecordService } from '../../authentication/tokens/client-record.service.ts';
import { createIntrospectionService } from '../../authentication/tokens/introspection.service.ts';
import { createRefreshService } from '../../authentication/tokens/refresh.service.ts';
import { createSuccessorDeriver } from '../../authentication/tokens/refresh-successor.node.ts';
import { REFRESH_TOKEN } from '../../authentication/tokens/refresh-token.ts';
import { createTokenService } from '../../authentication/tokens/token.service.ts';
import type { Grant } from '../../authentication/tokens/token-answer.ts';
import type { Config } from '../../platform/config.ts';
import { createFailureLimiter } from '../../platform/http/failure-limiter.ts';
import type { Core } from './compose.ts';

export type Authentication = ReturnType<typeof composeTokens>;

/** The window in which wrong credentials are counted, in seconds. */
const FAILURE_WINDOW = 60;

/**
 * Wires tokens: how clients authenticate, which grants there are, and what ends a token.
 * @param options.onRefused told of each failure beyond a limit
 */
export function composeTokens(
  config: Config,
  core: Core,
  { logger, onRefused }: { logger: Logger; onRefused: (limit: string) => void },
) {
  const { database, audit, events, issuer, applications, revocations } = core;
  const onError = (error: unknown) =>
    logger.error({ err: error }, 'a record of what happened could not be written');
  const tokens = createTokenService({
    issuer,
    revocations,
    accessTokenLifetime: config.accessTokenLifetime,
    refreshTokenLifetime: config.refreshTokenLifetime,
  });
  const clientRecords = createClientRecordService({ database, audit, events, onError });
  const clientAssertions = createClientAssertionService({
    database,
    onError,
  });
  const clients = createClientAuthenticationService({
    applications,
    assertions: clientAssertions,
    records: clientRecords,
    failures: limitFailures({ points: config.rateLimit.clientFailures, prefix: 'client' }),
    bruteForce: detectBruteForce({ limit: config.rateLimit.clientFailures }),
  });
  const clientCredentials = createClientCredentialsService({ clients, tokens, records: clientRecords });

  const failures = createAuthenticationFailureService({
    database,
    audit,
    events,
    limiter: limitFailures({ points: config.rateLimit.fingerprintFailures, prefix: 'fingerprint' }),
    bruteForce: detectBruteForce({ limit: config.rateLimit.fingerprintFailures }),
  });
  const refresh = createRefreshService({
    database,
    successors: createSuccessorDeriver(config),
    tokens,
    audit,
    events,
    failures,
  });
  const dpop = createDpopService({
    database,
    verifier: createProofVerifier(),
    masterKeys: config.masterKeys,
    onError,
  });
  const introspection = createIntrospectionService({
    database,
    clients,
    tokens,
    revocations,
    audit,
    events,
  });
  return {
    tokens,
    dpop,
    clients,
    clientRecords,
    /** The grants that need nothing but tokens, by their `grant_type`. */
    grants: new Map<string, Grant>([
      [CLIENT_CREDENTIALS, clientCredentials.grant],
      [REFRESH_TOKEN, refresh.grant],
    ]),
    introspection,
    failures,
    limitFailures,
    detectBruteForce,
    /** To be called before the database closes: failures that were counted are written now. */
    close: async () => {
      await Promise.allSettled([clientRecords.close(), clientAssertions.close(), dpop.close()]);
    },
  };

  function detectBruteForce({ limit }: { limit: number }) {
    return createBruteForceService({ database, limit });
  }

  function limitFailures({ points, prefix }: { points: number; prefix: string }) {
    return createFailureLimiter({
      pool: database.pool,
      points,
      seconds: FAILURE_WINDOW,
      prefix,
      logger,
      onRefused,
    });
  }
}
