// The data of a request that services receive, without HTTP objects.

import type { Act } from './act.ts';
import type { Transaction } from './database/transaction.ts';
import type { OutsideTurn } from './database/turns.ts';

export type SigningAlgorithm = 'ES256' | 'EdDSA';

/** `fapi2`: all tokens are bound to keys, and clients authenticate with `private_key_jwt` (FAPI 2.0). */
export type SecurityProfile = 'fapi2';

/** A tenant with its canonical addresses; `audience` defaults to `baseUrl`. */
export type Tenant = {
  readonly id: string;
  readonly slug: string;
  readonly name: string;
  readonly audience: string;
  readonly signingAlgorithm: SigningAlgorithm;
  /** Absent: no profile. */
  readonly securityProfile?: SecurityProfile | undefined;
  /** `{base_url}` of the specification, without a slash at its end. */
  readonly baseUrl: string;
  /** `{issuer_url}` of the specification, without a slash at its end. */
  readonly issuerUrl: string;
  readonly suspended?: true;
  /** End of the latest suspension. Credentials that were issued before it stay invalid. */
  readonly resumedAt?: Date;
  /** Days for which its events are kept, by its own setting. */
  readonly eventsDays?: number;
  /** Its events before were removed by its own setting, which may be a longer one now. */
  readonly eventsGoneBefore?: Date;
  /** The most subscriptions that it may have, by its own number. */
  readonly subscriptionLimit?: number;
  /** It has so many subscriptions that its events share no statement with those of other tenants. */
  readonly fansOut?: true;
};

/**
 * The caller, identified by a valid access token. `subject` is the claim `sub`: the agent, but the user in a delegated
 * token.
 */
export type Principal = {
  readonly kind: 'application' | 'agent';
  readonly subject: string;
  readonly clientId: string;
  readonly agentId?: string | undefined;
  readonly tokenId: string;
  readonly scopes: readonly string[];
  /** Thumbprint of the key that the token is bound to (RFC 9449 §6.1). */
  readonly jkt?: string | undefined;
  /** Only in a delegated token: the user, and the actors (RFC 8693 §4.1). */
  readonly delegated?:
    | { readonly subject: { readonly iss: string; readonly sub: string }; readonly act: Act }
    | undefined;
};

/** Names the client of a token for limits: an application, a workload's agent, or an agent with keys. */
export function clientNameOf({ delegated, subject, agentId, clientId }: Principal): string {
  return delegated === undefined ? subject : (agentId ?? clientId);
}

export type RequestContext = {
  readonly requestId: string;
  readonly tenant: Tenant;
  /** The client's IP address; behind trusted proxies, the address that they report. */
  readonly address: string;
  readonly userAgent?: string | undefined;
  readonly principal?: Principal | undefined;
  /**
   * Of a request without a token: called with the client whose secret, token or signature is right, before the work.
   * @throws ServiceError `rate_limited` when the client has used up its share of the tenant's limit
   */
  readonly countClient?: ((client: string) => void) | undefined;
  /** The transaction of an idempotent request; `database.transaction` joins it. */
  readonly transaction?: Transaction | undefined;
  /** Of a request that may wait for another server: waits without the turn of its tenant. */
  readonly outsideTurn?: OutsideTurn | undefined;
};
