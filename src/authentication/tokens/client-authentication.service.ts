// Authenticates applications as clients. An unknown client and a wrong secret get the same answer after the same work.

import type { BruteForceService } from '../../audit/brute-force.service.ts';
import type { ApplicationService, Client } from '../../identity/applications/application.service.ts';
import { thumbprintsOf } from '../../identity/applications/application-jwks.ts';
import { addressGroup } from '../../platform/address-group.ts';
import type { RequestContext } from '../../platform/context.ts';
import { hashesEqual, hashSecret } from '../../platform/crypto/opaque-secret.node.ts';
import { type FailureCounter, invalidField, ServiceError } from '../../platform/errors/service-error.ts';
import { Service } from '../../platform/service.ts';
import { parseBasicCredentials } from './basic-credentials.ts';
import type { ClientAssertionService } from './client-assertion.service.ts';
import { clientRefused } from './client-credentials.ts';
import { type ChosenMethod, chooseMethod } from './client-method.ts';
import type { ClientProof, ClientRecordService } from './client-record.service.ts';
import { digestOfRequest } from './repeated-request.node.ts';
import type { ClientRequest } from './token-answer.ts';

export type AuthenticatedClient = Client & { readonly proof: ClientProof };

type ChosenSecret = Extract<ChosenMethod, { credentials: unknown }>;

const NO_SECRET = { id: '', hash: Buffer.alloc(32) };

/** The parts of all client ids under which the failures from one address are counted, and those of unknown clients. */
const BUCKETS = 256;
const UNKNOWN = 16;

export type ClientAuthenticationNeeds = {
  applications: Pick<ApplicationService, 'findClient' | 'recallClient'>;
  assertions: Pick<ClientAssertionService, 'read' | 'verify'>;
  clientRecords: Pick<ClientRecordService, 'failure' | 'bruteForce'>;
  /** Counts wrong credentials by client and address. */
  failures: FailureCounter;
  /** Counts wrong credentials by client, so that those from many addresses are one attack. */
  bruteForce: Pick<BruteForceService, 'failed' | 'goesOn'>;
};

/**
 * Authenticates clients by a secret, with HTTP Basic or in the form (RFC 6749 §2.3.1), or by a signed assertion (RFC
 * 7523). A request uses one of them.
 */
export class ClientAuthenticationService extends Service<ClientAuthenticationNeeds> {
  /**
   * Authenticates by its secret a client that this process has read before, without a round trip. The caller proves
   * by the client's `version` and its credential that both are still stored.
   * @returns undefined when `authenticate` has to decide
   * @throws ServiceError as `authenticate` for a malformed request
   */
  recall = (context: RequestContext, request: ClientRequest): AuthenticatedClient | undefined => {
    const chosen = readMethod(context, request);
    if (chosen.method === 'private_key_jwt') return undefined;
    return counted(
      context,
      proveSecret(
        this.needs.applications.recallClient(context.tenant.id, chosen.credentials.clientId),
        chosen,
      ),
    );
  };

  /**
   * Authenticates the client of a request. One round trip reads the client and is shared by concurrent requests. An
   * assertion needs a second round trip, which records its use. At the token endpoint the same request may use it again
   * within 10 s, except under a security profile.
   * @throws ServiceError `invalid_request` (malformed header, two methods, another `client_id`), `invalid_client`, or
   * `rate_limited` instead of it after too many failures. Right credentials are accepted even after many failures.
   */
  authenticate = async (context: RequestContext, request: ClientRequest): Promise<AuthenticatedClient> => {
    const chosen = readMethod(context, request);
    if (chosen.method !== 'private_key_jwt') return this.#authenticateBySecret(context, chosen);
    const client = await this.#authenticateByAssertion(context, chosen.assertion, request);
    checkClientId(request.parameters.client_id, client.id);
    return client;
  };

  /**
   * Reads a client again that has authenticated, because it has changed meanwhile.
   * @throws ServiceError `invalid_client` when the client or its credential has ended
   */
  confirm = async (
    context: RequestContext,
    { id, proof }: AuthenticatedClient,
  ): Promise<AuthenticatedClient> => {
    const client = await this.needs.applications.findClient(context.tenant.id, id);
    const live = [...(client?.secrets ?? []).map((secret) => secret.id), ...thumbprintsOf(client)];
    if (client === undefined || !live.includes(proof.credential ?? '')) throw clientRefused();
    return { ...client, proof };
  };

  #authenticateBySecret = async (
    context: RequestContext,
    chosen: ChosenSecret,
  ): Promise<AuthenticatedClient> => {
    const { clientId } = chosen.credentials;
    const client = await this.needs.applications.findClient(context.tenant.id, clientId);
    const proven = proveSecret(client, chosen);
    if (proven !== undefined) return counted(context, proven);
    throw await this.#refuse(context, { clientId, client, method: chosen.method });
  };

  #authenticateByAssertion = async (
    context: RequestContext,
    text: string,
    { parameters, proofKey }: ClientRequest,
  ): Promise<AuthenticatedClient> => {
    const assertion = this.needs.assertions.read(text, context.tenant);
    const { clientId } = assertion;
    const client = await this.needs.applications.findClient(context.tenant.id, clientId);
    const method = 'private_key_jwt';
    try {
      const mayRepeat = proofKey !== undefined && context.tenant.securityProfile === undefined;
      const digest = mayRepeat ? digestOfRequest(context, parameters, proofKey()) : undefined;
      const credential = await this.needs.assertions.verify(context, client, assertion, digest);
      if (client === undefined) throw clientRefused();
      return counted(context, { ...client, proof: { method, credential } });
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== 'invalid_client') throw error;
      throw await this.#refuse(context, { clientId, client, method }, error);
    }
  };

  /** Counts a failure. @returns the error for the answer; `rate_limited` beyond the limit */
  #refuse = async (
    context: RequestContext,
    {
      clientId,
      client,
      method,
    }: Pick<ClientProof, 'method'> & { clientId: string; client: Client | undefined },
    error = clientRefused(),
  ): Promise<ServiceError> => {
    const { blocked } = await this.needs.failures.failed(failureKey(context, clientId));
    // Failures of unknown clients are counted too, so that their answer takes as long, and together, so that made-up
    // ids cannot fill the table. The name contains the tenant, so that failures at another tenant with the same client
    // id are counted separately.
    const name = `${context.tenant.id}:${client?.id ?? `unknown-${bucketOf(clientId) % UNKNOWN}`}`;
    const episode = blocked === undefined ? await this.needs.bruteForce.failed(name) : undefined;
    if (blocked !== undefined) await this.needs.bruteForce.goesOn(name);
    if (client !== undefined) {
      const isOnlyCounted = blocked !== undefined;
      this.needs.clientRecords.failure(context, client.id, error.code, undefined, {
        proof: { method },
        isOnlyCounted,
      });
      if (episode !== undefined) this.needs.clientRecords.bruteForce(context, client.id, episode);
    }
    if (blocked === undefined) return error;
    return new ServiceError('rate_limited', {
      detail: 'Too many failures of this client from this address.',
      ...blocked,
    });
  };
}

/** @throws ServiceError `invalid_request` (malformed header, two methods, another `client_id`), `invalid_client` */
function readMethod({ tenant }: RequestContext, { authorization, parameters }: ClientRequest) {
  const credentials = parseBasicCredentials(authorization);
  if (credentials === 'malformed') throw invalidField('header.authorization', 'is malformed');
  const chosen = chooseMethod(parameters, credentials, tenant);
  if (chosen.method !== 'private_key_jwt') checkClientId(parameters.client_id, chosen.credentials.clientId);
  return chosen;
}

/** Counts a request for its client. @throws ServiceError `rate_limited` */
function counted<Proven extends AuthenticatedClient | undefined>(
  context: RequestContext,
  client: Proven,
): Proven {
  if (client !== undefined) context.countClient?.(client.id);
  return client;
}

/** Compares the secret with each live secret of the client. For an unknown client it does the same work. */
function proveSecret(
  client: Client | undefined,
  { method, credentials }: ChosenSecret,
): AuthenticatedClient | undefined {
  const hash = hashSecret(credentials.clientSecret);
  const stored = client?.secrets.length ? client.secrets : [NO_SECRET];
  const [right] = stored.filter((candidate) => hashesEqual(candidate.hash, hash));
  if (client === undefined || right === undefined || right === NO_SECRET) return undefined;
  return { ...client, proof: { method, credential: right.id, secretId: right.id } };
}

/** Checks that a `client_id` in the form equals the client id of the credentials. */
function checkClientId(sent: string | undefined, clientId: string): void {
  if (sent !== undefined && sent !== clientId)
    throw invalidField('body.client_id', 'is not the authenticated client');
}

/**
 * Returns the key under which failures are counted: a part of all client ids, and the address. Known and unknown
 * clients share the parts, so that neither made-up ids can fill the table nor an answer tells which ids exist.
 */
function failureKey({ tenant, address }: RequestContext, clientId: string): string {
  return `${tenant.id}:${bucketOf(clientId)}:${addressGroup(address)}`;
}

function bucketOf(clientId: string): number {
  return hashSecret(clientId.toLowerCase()).readUInt32BE() % BUCKETS;
}
