// Verifies users' tokens from the issuers that a tenant trusts.

import { jwtVerify } from 'jose';
import type { RequestContext, Tenant } from '../../platform/context.ts';
import type { Queryable } from '../../platform/database/transaction.ts';
import { Service } from '../../platform/service.ts';
import { isIssuer } from '../users/subject.ts';
import { type IssuerKeyFinder, peekClaims, refuseToken } from './issuer-key-finder.service.ts';
import { SUBJECT_TOKEN_ALGORITHMS } from './jwk-set.ts';
import {
  CLOCK_AHEAD,
  invalidSubjectToken,
  readSubjectClaims,
  type VerifiedSubject,
} from './subject-token.ts';
import * as store from './trusted-issuer.store.ts';
import type { TrustedIssuer } from './trusted-issuer.ts';

export type { VerifiedSubject } from './subject-token.ts';

/** Verifies users' tokens from trusted issuers (RFC 8693 §2.1, RFC 8725). */
export class SubjectTokenService extends Service<{
  database: Queryable;
  trustedKeys: IssuerKeyFinder;
  /** Milliseconds since 1970. */
  now?: (() => number) | undefined;
}> {
  readonly #now = this.needs.now ?? Date.now;

  /**
   * Verifies a user's token. It must have an asymmetric signature by a key of a trusted issuer and an audience that
   * the tenant configured for that issuer. It must not be expired or bound to a key.
   * @throws ServiceError `invalid_request` for each fault of the token (RFC 8693 §2.2.2); `temporarily_unavailable`
   * when the issuer's keys cannot be fetched
   */
  verifySubjectToken = async (
    { tenant, outsideTurn }: Pick<RequestContext, 'outsideTurn'> & { readonly tenant: Pick<Tenant, 'id'> },
    token: string,
  ): Promise<VerifiedSubject> => {
    const trusted = await this.#findIssuer(tenant, peekClaims(token, invalidSubjectToken).iss);
    try {
      const { payload, protectedHeader } = await jwtVerify(
        token,
        ({ kid, alg }) =>
          this.needs.trustedKeys.find(trusted, { kid, alg }, invalidSubjectToken, outsideTurn),
        {
          algorithms: [...SUBJECT_TOKEN_ALGORITHMS],
          issuer: trusted.issuer,
          audience: [...trusted.audiences],
          requiredClaims: ['sub', 'exp'],
          clockTolerance: CLOCK_AHEAD,
          currentDate: new Date(this.#now()),
        },
      );
      return readSubjectClaims(protectedHeader, payload, this.#now());
    } catch (error) {
      throw refuseToken(error, invalidSubjectToken);
    }
  };

  #findIssuer = async (tenant: Pick<Tenant, 'id'>, issuer: unknown): Promise<TrustedIssuer> => {
    const known =
      typeof issuer === 'string' && isIssuer(issuer)
        ? await store.findByIssuer(this.needs.database, tenant.id, issuer)
        : undefined;
    if (known === undefined) throw invalidSubjectToken('is of an issuer that this tenant does not trust');
    return known;
  };
}
