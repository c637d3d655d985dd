// Reads the actor and the subject token of a token exchange. It grants nothing.

import { type Act, readAct } from '../../platform/act.ts';
import type { RequestContext } from '../../platform/context.ts';
import { parseCompactJws } from '../../platform/crypto/jws.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import { type SignedClaims, scopesOf } from '../tokens/access-token.ts';
import type { TokenService } from '../tokens/token.service.ts';
import type { SubjectTokenService, VerifiedSubject } from '../trusted-issuers/subject-token.service.ts';
import { checkActor, checkMayAct, checkOwnSubject } from './exchange.ts';
import type { ExchangeRequest } from './exchange-request.ts';

/** What makes one of our tokens unacceptable here; other failures are failures of the request. */
const FAULTS: Readonly<Record<string, string>> = {
  invalid_token: 'is not valid',
  token_expired: 'has expired',
  token_revoked: 'was revoked',
};

/** Whom the actor is to act for. `own` are the claims of a token of this issuer; `act` are the actors before. */
export type ExchangedSubject = Pick<VerifiedSubject, 'issuer' | 'sub' | 'scopes' | 'exp'> & {
  readonly act: Act | undefined;
  readonly own?: SignedClaims | undefined;
};

export type ExchangeParties = { readonly actor: SignedClaims; readonly subject: ExchangedSubject };

/** Verifies the tokens of an exchange (RFC 8693 §2.1). @param subjects users' tokens of trusted issuers */
export function createExchangePartiesService({
  tokens,
  subjects,
}: {
  tokens: Pick<TokenService, 'verifyAccessToken'>;
  subjects: Pick<SubjectTokenService, 'verifySubjectToken'>;
}) {
  async function verifyOwn(
    { tenant }: RequestContext,
    name: 'actor' | 'subject',
    text: string,
  ): Promise<SignedClaims> {
    try {
      return await tokens.verifyAccessToken(tenant, text);
    } catch (error) {
      const fault = error instanceof ServiceError ? FAULTS[error.code] : undefined;
      if (fault === undefined) throw error;
      throw new ServiceError('invalid_request', { detail: `The ${name} token ${fault}.`, cause: error });
    }
  }

  /** The subject of the token; of a delegated token the same user again, with the actors so far. */
  async function readOwnSubject(context: RequestContext, text: string, type: string) {
    const own = await verifyOwn(context, 'subject', text);
    checkOwnSubject(own, type);
    const { iss: issuer, sub } = own.delegated_subject ?? { iss: context.tenant.issuerUrl, sub: own.sub };
    return { issuer, sub, scopes: scopesOf(own), exp: own.exp, act: own.act, own };
  }

  async function readForeignSubject({ tenant }: RequestContext, text: string, actor: SignedClaims) {
    const { mayAct, act, ...subject } = await subjects.verifySubjectToken(tenant, text);
    checkMayAct(mayAct, { sub: actor.sub, issuer: tenant.issuerUrl });
    return { ...subject, act: readAct(act, { issuer: subject.issuer, own: tenant.issuerUrl }) };
  }

  return {
    /**
     * Reads both tokens of an exchange: the actor's must be an agent's own, the subject's one of this issuer or of an
     * issuer that the tenant trusts, and let this actor act. A token that names this issuer is ours, also when the
     * tenant trusts an issuer of that name.
     * @throws ServiceError `invalid_request` for every fault of a token (RFC 8693 §2.2.2); `temporarily_unavailable`
     *   when that cannot be decided, for example without the keys of a trusted issuer
     */
    read: async (context: RequestContext, request: ExchangeRequest): Promise<ExchangeParties> => {
      const actor = await verifyOwn(context, 'actor', request.actorToken);
      checkActor(actor);
      const { subjectToken, subjectTokenType } = request;
      const isOwn = parseCompactJws(subjectToken)?.payload.iss === context.tenant.issuerUrl;
      const subject = isOwn
        ? await readOwnSubject(context, subjectToken, subjectTokenType)
        : await readForeignSubject(context, subjectToken, actor);
      return { actor, subject };
    },
  };
}

export type ExchangePartiesService = ReturnType<typeof createExchangePartiesService>;
