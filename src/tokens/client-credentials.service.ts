// The token endpoint's client credentials grant. Unknown client and wrong secret must never differ in answer or in work.
import type { ApplicationService, Client } from '../applications/application.service.ts';
import type { AuditService } from '../audit/audit.service.ts';
import type { RequestContext } from '../context.ts';
import { hashesEqual, hashSecret } from '../crypto/opaque-secret.node.ts';
import type { Database } from '../database/database.ts';
import { ServiceError } from '../errors/service-error.ts';
import type { EventService } from '../events/event.service.ts';
import type { AccessTokenGrant } from './access-token.ts';
import { type ClientCredentials, parseBasicCredentials } from './basic-credentials.ts';
import { checkTokenRequest, clientRefused, decideGrant, type TokenParameters } from './client-credentials.ts';
import { createClientRecordService } from './client-record.service.ts';
import type { TokenService } from './token.service.ts';

/** Counts failures of a key; `blocked` from the one after the last that is allowed. */
export type FailureCounter = {
  failed(key: string): Promise<{ failures: number; blocked: { retryAfterSeconds: number } | undefined }>;
};

export type TokenRequest = {
  /** The `Authorization` header. */
  readonly authorization: string | undefined;
  readonly parameters: TokenParameters;
};

/** Source: Specification, "Token response". */
export type TokenAnswer = {
  readonly access_token: string;
  readonly token_type: 'Bearer';
  readonly expires_in: number;
  readonly scope: string;
};

const NO_SECRET = Buffer.alloc(32);

/** Wrong secrets of one client from one address within the limiter's window that are told of as a brute force attack. */
const BRUTE_FORCE = 10;

const CLIENT_ID = /^[0-9a-f-]{36}$/i;

/**
 * The client credentials grant (RFC 6749 §4.4). Source: Specification, "Client credentials rules".
 * @param failures counts wrong credentials by client and address
 * @param onError told when the record of a failure could not be written
 */
export function createClientCredentialsService({
  database,
  applications,
  tokens,
  audit,
  events,
  failures,
  onError,
}: {
  database: Pick<Database, 'hot' | 'query'>;
  applications: Pick<ApplicationService, 'findClient'>;
  tokens: Pick<TokenService, 'issueAccessToken'>;
  audit: Pick<AuditService, 'append' | 'prepare' | 'parts'>;
  events: Pick<EventService, 'emit' | 'prepare' | 'parts' | 'announce'>;
  failures: FailureCounter;
  onError: (error: unknown) => void;
}) {
  const records = createClientRecordService({ database, audit, events, onError });

  /** Finds the client and compares the secret with each live one. An unknown client costs the same. */
  async function authenticateClient(
    context: RequestContext,
    { clientId, clientSecret }: ClientCredentials,
  ): Promise<Client> {
    const client = await applications.findClient(context.tenant.id, clientId);
    const hash = hashSecret(clientSecret);
    const stored = client?.secretHashes.length ? client.secretHashes : [NO_SECRET];
    const isRight = stored.map((candidate) => hashesEqual(candidate, hash)).includes(true);
    if (client !== undefined && isRight) return client;
    const { failures: count, blocked } = await failures.failed(failureKey(context, clientId));
    const error = clientRefused();
    if (client !== undefined) {
      records.failure(context, client.id, error.code);
      if (count === BRUTE_FORCE && blocked === undefined) records.bruteForce(context, client.id);
    }
    if (blocked === undefined) throw error;
    throw new ServiceError('rate_limited', {
      detail: 'Too many failures of this client from this address.',
      retryAfterSeconds: blocked.retryAfterSeconds,
    });
  }

  function decide(context: RequestContext, client: Client, scope: string | undefined): AccessTokenGrant {
    try {
      return decideGrant(client, scope, context.tenant.baseUrl);
    } catch (error) {
      if (error instanceof ServiceError) records.failure(context, client.id, error.code);
      throw error;
    }
  }

  return {
    /**
     * Answers a token request. Round trips: 1 to read the client and 1 to write audit entries and events, both shared by
     * requests at the same time; a failure costs the reading and the counter, and its record is written in the background.
     * @throws ServiceError `invalid_request`, `unsupported_grant_type`, `invalid_client`, `unauthorized_client`, `policy_denied`,
     *   `invalid_scope`, or `rate_limited` instead of `invalid_client` after too many failures; a right secret is never refused for
     *   failures before it
     */
    requestToken: (context: RequestContext, request: TokenRequest): Promise<TokenAnswer> =>
      withTokenHeaders(context, async () => {
        const { authorization, parameters } = request;
        const credentials = parseBasicCredentials(authorization);
        if (credentials === 'malformed') {
          throw new ServiceError('invalid_request', { detail: 'The Authorization header is malformed.' });
        }
        checkTokenRequest(parameters, credentials !== 'absent');
        if (credentials === 'absent') {
          throw new ServiceError('invalid_client', {
            detail: 'The client must authenticate with HTTP Basic.',
          });
        }
        if (parameters.client_id !== undefined && parameters.client_id !== credentials.clientId) {
          throw new ServiceError('invalid_request', {
            detail: 'The client_id is not the authenticated client.',
          });
        }
        const client = await authenticateClient(context, credentials);
        const grant = decide(context, client, parameters.scope);
        const issued = await tokens.issueAccessToken(context.tenant, grant);
        await records.success(context, grant, issued);
        return {
          access_token: issued.accessToken,
          token_type: 'Bearer',
          expires_in: issued.expiresIn,
          scope: grant.scopes.join(' '),
        };
      }),

    /** Waits for records of failures that are being written. */
    settled: () => records.settled(),

    /** Writes what was counted; called once, when the process stops. */
    close: () => records.close(),
  };
}

export type ClientCredentialsService = ReturnType<typeof createClientCredentialsService>;

/** What counts as one guesser: a client id (ids that no client can have are one) at an address. */
function failureKey({ tenant, address }: RequestContext, clientId: string): string {
  const id = CLIENT_ID.test(clientId) ? clientId.toLowerCase() : 'malformed';
  return `${tenant.id}:${id}:${address}`;
}

/** Gives every failure the headers of token answers, and `invalid_client` its challenge (RFC 6749 §5.1, §5.2; RFC 7617). */
async function withTokenHeaders<T>({ tenant }: RequestContext, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    const { code, detail, cause, errors, headers, retryAfterSeconds } = error;
    const challenge = { 'www-authenticate': `Basic realm="${tenant.issuerUrl}", charset="UTF-8"` };
    throw new ServiceError(code, {
      detail,
      cause,
      errors,
      retryAfterSeconds,
      headers: {
        ...headers,
        'cache-control': 'no-store',
        pragma: 'no-cache',
        ...(code === 'invalid_client' ? challenge : {}),
      },
    });
  }
}
