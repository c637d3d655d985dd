// Reads and verifies the actor token and the subject token of a token exchange.

import { type Act, readAct } from '../../platform/act.ts';
import type { RequestContext } from '../../platform/context.ts';
import { parseCompactJws } from '../../platform/crypto/jws.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import { Service } from '../../platform/service.ts';
import { type SignedClaims, scopesOf } from '../tokens/access-token.ts';
import type { TokenService } from '../tokens/token.service.ts';
import type { SubjectTokenService, VerifiedSubject } from '../trusted-issuers/subject-token.service.ts';
import { checkActor, checkMayAct, checkOwnSubject } from './exchange.ts';
import type { ExchangeRequest } from './exchange-request.ts';

/** Errors by which a token of this issuer is refused in an exchange. Any other error fails the request. */
const FAULTS: Readonly<Record<string, string>> = {
  invalid_token: 'is not valid',
  token_expired: 'has expired',
  token_revoked: 'was revoked',
};

/** The subject of an exchange. `own` contains the claims of a token of this issuer, `act` the earlier actors. */
export type ExchangedSubject = Pick<VerifiedSubject, 'issuer' | 'sub' | 'scopes' | 'exp'> & {
  readonly act: Act | undefined;
  readonly own?: SignedClaims | undefined;
};

export type ExchangeParties = { readonly actor: SignedClaims; readonly subject: ExchangedSubject };

export type ExchangePartiesNeeds = {
  tokens: Pick<TokenService, 'verifyAccessToken'>;
  subjects: Pick<SubjectTokenService, 'verifySubjectToken'>;
};

/** Verifies the tokens of an exchange (RFC 8693 §2.1). @param subjects verifies users' tokens of trusted issuers */
export class ExchangePartiesService extends Service<ExchangePartiesNeeds> {
  /**
   * Reads both tokens of an exchange. The actor token must be an agent's own token. The subject token must come from
   * this issuer or from an issuer that the tenant trusts, and must allow this actor. A token that names this issuer
   * is verified with this issuer's keys, even when the tenant trusts an issuer of that name.
   * @throws ServiceError `invalid_request` for each fault of a token (RFC 8693 §2.2.2); `temporarily_unavailable`
   * when a token cannot be verified, for example without the keys of a trusted issuer
   */
  read = async (context: RequestContext, request: ExchangeRequest): Promise<ExchangeParties> => {
    const actor = await this.#verifyOwn(context, 'actor', request.actorToken);
    checkActor(actor);
    const { subjectToken, subjectTokenType } = request;
    const isOwn = parseCompactJws(subjectToken)?.payload.iss === context.tenant.issuerUrl;
    const subject = isOwn
      ? await this.#readOwnSubject(context, subjectToken, subjectTokenType)
      : await this.#readForeignSubject(context, subjectToken, actor);
    return { actor, subject };
  };

  #verifyOwn = async (
    { tenant }: RequestContext,
    name: 'actor' | 'subject',
    text: string,
  ): Promise<SignedClaims> => {
    try {
      return await this.needs.tokens.verifyAccessToken(tenant, text);
    } catch (error) {
      const fault = error instanceof ServiceError ? FAULTS[error.code] : undefined;
      if (fault === undefined) throw error;
      throw new ServiceError('invalid_request', { detail: `The ${name} token ${fault}.`, cause: error });
    }
  };

  /** A delegated token has the same user as its subject, and the earlier actors. */
  #readOwnSubject = async (context: RequestContext, text: string, type: string) => {
    const own = await this.#verifyOwn(context, 'subject', text);
    checkOwnSubject(own, type);
    const { iss: issuer, sub } = own.delegated_subject ?? { iss: context.tenant.issuerUrl, sub: own.sub };
    return { issuer, sub, scopes: scopesOf(own), exp: own.exp, act: own.act, own };
  };

  #readForeignSubject = async (context: RequestContext, text: string, actor: SignedClaims) => {
    const { tenant } = context;
    const { mayAct, act, ...subject } = await this.needs.subjects.verifySubjectToken(context, text);
    checkMayAct(mayAct, { sub: actor.sub, issuer: tenant.issuerUrl });
    return { ...subject, act: readAct(act, { issuer: subject.issuer, own: tenant.issuerUrl }) };
  };
}
