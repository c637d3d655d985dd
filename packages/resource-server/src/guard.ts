// The guard: judges a request by its access token, and answers where it refuses. Whatever it cannot judge it refuses.
// docs/decisions/0033-resource-servers.md
import {
  checkRules,
  type Expectations,
  findFault,
  listOf,
  PERMISSION,
  type Rules,
  requiredScopes,
  requireKnown,
  VALIDITY,
} from './checks.ts';
import { boundKeyOf, describeAgent, type SignedToken, type VerifiedAgent } from './claims.ts';
import { type GuardedRequest, readCredentials, schemeOf } from './credentials.ts';
import { createIntrospector, type IntrospectionOptions } from './introspection.ts';
import { createIssuerKeys, readClaims, readHeader } from './issuer-keys.ts';
import { answerMetadata, describeResource, locateMetadata, type MetadataMembers } from './metadata.ts';
import { PROOF_ALGORITHMS, verifyProof } from './proof.ts';
import type { ProofNonces } from './proof-nonces.ts';
import { answerRefusal, type GuardAnswer, Refusal, type Scheme } from './refusal.ts';
import { createMemoryReplayStore, type ReplayStore } from './replay-store.ts';
import type { Revocations } from './revocations.ts';

export type GuardOptions = {
  /** The issuer address of the tenant, without a slash at its end. */
  readonly issuer: string;
  /** What tokens for this server have as their `aud`: one audience, or several. */
  readonly audience: string | readonly string[];
  /** The tenant's id. The issuer decides the tenant already; with it a token must name this one. */
  readonly tenantId?: string | undefined;
  /**
   * The public address of this server (RFC 9728): its scheme and host are compared with a proof's `htu`, since the
   * Host header is the caller's choice. It is the first audience unless it is given, when that is an address.
   */
  readonly resource?: string | undefined;
  /** What comes before the target of each request as clients see it, when a proxy has removed a part of the path. */
  readonly publicUrl?: string | undefined;
  /** Where the keys are; `<issuer>/.well-known/jwks.json` unless it is given. */
  readonly jwksUri?: string | undefined;
  /** Seconds by which the clocks may differ at `exp` and `nbf`: 0 unless it is given, 60 at most. */
  readonly clockToleranceSeconds?: number | undefined;
  /** The store for several processes, nonces, and whether each token must be bound to a key (profile `fapi2`). */
  readonly dpop?:
    | {
        readonly required?: boolean | undefined;
        readonly replays?: ReplayStore | undefined;
        readonly nonces?: ProofNonces | undefined;
      }
    | undefined;
  /** The issuer is asked while its keys cannot be had or the revocations cannot be followed; or for each token. */
  readonly introspection?: IntrospectionOptions | undefined;
  /** What `followRevocations` returned. Without it a revoked token is accepted until it expires. */
  readonly revocations?: Revocations | undefined;
  /** Further members of the metadata. */
  readonly metadata?: MetadataMembers | undefined;
  /**
   * Receives each refusal, for the log; its `cause` is what was away at a 503. By default a 503 is printed with
   * `console.warn`, at most one every ten seconds.
   */
  readonly onRefused?: ((refusal: Refusal) => void) | undefined;
  readonly fetch?: typeof globalThis.fetch | undefined;
  /** Milliseconds since 1970, with which the times in tokens and proofs are compared. */
  readonly now?: (() => number) | undefined;
  /** Milliseconds of a clock that nobody sets, from which ages are counted; `performance.now` by default. */
  readonly elapsed?: (() => number) | undefined;
};

/** `headers` belong into the answer of the route: a nonce for the next proof. */
export type Decision =
  | { readonly agent: VerifiedAgent; readonly headers: Readonly<Record<string, string>> }
  | { readonly agent: undefined; readonly answer: GuardAnswer; readonly refusal: Refusal };

export type Guard = ReturnType<typeof createGuard>;

/** @throws TypeError for options that cannot be meant */
export function createGuard(options: GuardOptions) {
  const { issuer, dpop = {}, revocations, fetch = globalThis.fetch, now = Date.now } = options;
  const elapsed = options.elapsed ?? (() => performance.now());
  const onRefused = options.onRefused ?? createPrinter(elapsed);
  const audiences = listOf(options.audience);
  const resource = checkOptions(options, audiences);
  const requiresProof = dpop.required ?? false;
  const replays = dpop.replays ?? createMemoryReplayStore({ now });
  const publicUrl = options.publicUrl ?? new URL(resource).origin;
  const metadata = locateMetadata(resource);
  const document = describeResource({ resource, issuer, requiresProof }, options.metadata ?? {});
  const jwksUri = options.jwksUri ?? `${issuer}/.well-known/jwks.json`;
  const keys = createIssuerKeys({ jwksUri, fetch, elapsed });
  const introspector =
    options.introspection &&
    createIntrospector({ issuer, options: options.introspection, fetch, now, elapsed });
  const whileStale = revocations?.whileStale ?? (introspector === undefined ? 'refuse' : 'introspect');
  revocations?.onIssuerKeyRevoked(() => void keys.reload());

  const expectationsOf = (scheme: Expectations['scheme'], rules: Rules): Expectations => ({
    issuer,
    audiences,
    tenantId: options.tenantId,
    now: now() / 1000,
    clockToleranceSeconds: options.clockToleranceSeconds ?? 0,
    scheme,
    requiresProof,
    rules,
  });

  /** Reads the signed claims; by introspection where the keys cannot be had and it is allowed. */
  async function readSigned(token: string, expected: Expectations): Promise<SignedToken> {
    try {
      return await keys.verify(token);
    } catch (error) {
      const isAway = error instanceof Refusal && error.code === 'temporarily_unavailable';
      if (!isAway || introspector === undefined) throw error;
      // Not verified, and only good to refuse: a stranger's invention costs the issuer no request.
      requireNoFault(VALIDITY, { header: readHeader(token), claims: readClaims(token) }, expected);
      return introspector.introspect(token);
    }
  }

  /** Refuses a token that has ended, or of which nobody can say whether it has. */
  async function requireLive(token: string, signed: SignedToken, expected: Expectations): Promise<void> {
    const verdict = revocations?.judge(signed) ?? 'live';
    if (verdict === 'ended') throw new Refusal('token_revoked', 'The access token was revoked.');
    const asks = introspector?.use === 'always' || (verdict === 'unknown' && whileStale === 'introspect');
    if (asks && introspector !== undefined) {
      requireNoFault(VALIDITY, await introspector.introspect(token), expected);
      return;
    }
    if (verdict === 'unknown' && !isAcceptedWhileStale())
      throw new Refusal('temporarily_unavailable', 'Revocations cannot be followed at the moment.', {
        cause: revocations?.explainUnknown(signed),
      });
  }

  const isAcceptedWhileStale = (): boolean =>
    typeof whileStale === 'object' &&
    revocations !== undefined &&
    revocations.status().ageSeconds <= whileStale.acceptForSeconds;

  async function prove(request: GuardedRequest, token: string, jkt: string): Promise<void> {
    const proven = {
      proofs: request.header('dpop'),
      method: request.method,
      url: publicUrl + request.target,
      token,
      jkt,
      now: now(),
    };
    await verifyProof(proven, { replays, nonces: dpop.nonces });
  }

  /**
   * Judges a request: token, signature, validity, revocation, proof, and last what the route requires.
   * @throws Refusal
   */
  async function check(request: GuardedRequest, rules: Rules = {}): Promise<VerifiedAgent> {
    checkRules(rules);
    const { scheme, token } = readCredentials(request);
    const expected = expectationsOf(scheme, rules);
    const signed = await readSigned(token, expected);
    requireNoFault(VALIDITY, signed, expected);
    await requireLive(token, signed, expected);
    const jkt = boundKeyOf(signed.claims);
    if (jkt !== undefined) await prove(request, token, jkt);
    requireNoFault(PERMISSION, signed, expected);
    return describeAgent(signed);
  }

  async function answer(refusal: Refusal, scheme: Scheme, rules: Rules): Promise<GuardAnswer> {
    const scopes = requiredScopes(rules);
    const facts = {
      metadataUrl: metadata.url,
      proofAlgorithms: PROOF_ALGORITHMS,
      requiresProof,
      scope: scopes.length === 0 ? undefined : scopes.join(' '),
    };
    const nonce = refusal.status === 401 ? await dpop.nonces?.issue(now()) : undefined;
    return answerRefusal(refusal, scheme, facts, nonce);
  }

  return {
    check,

    /** Checks the rules of a route when it is made. @throws TypeError for a member that is no rule */
    checkRules,

    /** Judges a request. It never throws: a fault of the guard itself is a refusal with 503. */
    authorize: async (request: GuardedRequest, rules: Rules = {}): Promise<Decision> => {
      try {
        const agent = await check(request, rules);
        const nonce = agent.jkt === undefined ? undefined : await dpop.nonces?.issue(now());
        return { agent, headers: nonce === undefined ? {} : { 'dpop-nonce': nonce } };
      } catch (error) {
        const refusal =
          error instanceof Refusal
            ? error
            : new Refusal('temporarily_unavailable', 'The request cannot be judged at the moment.', {
                cause: error,
              });
        onRefused(refusal);
        const scheme = schemeOf(request.header('authorization')[0]);
        return { agent: undefined, answer: await answer(refusal, scheme, rules), refusal };
      }
    },

    /** The protected resource metadata (RFC 9728), its path and its address. */
    metadata: { ...metadata, document, answer: answerMetadata(document) },
  };
}

/** @throws Refusal with the first fault; with the scopes of the route when one of them lacks */
function requireNoFault(checks: typeof VALIDITY, token: SignedToken, expected: Expectations): void {
  const fault = findFault(checks, token, expected);
  if (fault === undefined) return;
  const scope = fault.claim === 'scope' ? requiredScopes(expected.rules).join(' ') : undefined;
  throw new Refusal(fault.code, fault.detail, { scope });
}

/** Milliseconds between two lines about requests that could not be judged. */
const PRINTED_EVERY_MS = 10_000;

function createPrinter(elapsed: () => number): (refusal: Refusal) => void {
  let printedAt = Number.NEGATIVE_INFINITY;
  return (refusal) => {
    if (refusal.status !== 503 || elapsed() - printedAt < PRINTED_EVERY_MS) return;
    printedAt = elapsed();
    // biome-ignore lint/suspicious/noConsole: the one output that every JavaScript runtime has
    console.warn(refusal.message, refusal.cause ?? '');
  };
}

const QUOTABLE = /^[!#-[\]-~]+$/;

const OPTIONS: Readonly<Record<keyof GuardOptions, true>> = {
  issuer: true,
  audience: true,
  tenantId: true,
  resource: true,
  publicUrl: true,
  jwksUri: true,
  clockToleranceSeconds: true,
  dpop: true,
  introspection: true,
  revocations: true,
  metadata: true,
  onRefused: true,
  fetch: true,
  now: true,
  elapsed: true,
};
const DPOP_OPTIONS = { required: true, replays: true, nonces: true } as const;
const INTROSPECTION_OPTIONS = {
  clientId: true,
  clientSecret: true,
  privateKey: true,
  cacheSeconds: true,
  use: true,
} as const;

/** @returns the resource @throws TypeError */
function checkOptions(options: GuardOptions, audiences: readonly string[]): string {
  const { issuer, clockToleranceSeconds = 0, introspection, revocations, dpop = {} } = options;
  // A misspelt option must not switch a check off in silence.
  requireKnown(options, OPTIONS, 'option');
  requireKnown(dpop, DPOP_OPTIONS, 'option of dpop');
  requireKnown(introspection ?? {}, INTROSPECTION_OPTIONS, 'option of introspection');
  if (!URL.canParse(issuer) || issuer.endsWith('/'))
    throw new TypeError('issuer: the address of the issuer, without a slash at its end.');
  const [first] = audiences;
  // They are quoted in challenges.
  if (first === undefined || ![issuer, ...audiences].every((text) => QUOTABLE.test(text)))
    throw new TypeError('audience: at least one, each of visible ASCII characters without quotes.');
  const resource = options.resource ?? first;
  if (!/^https?:\/\//.test(resource) || !URL.canParse(resource))
    throw new TypeError('resource: the public address of this server, since the audience is none.');
  if (!(clockToleranceSeconds >= 0 && clockToleranceSeconds <= 60))
    throw new TypeError('clockToleranceSeconds: from 0 to 60.');
  if (revocations?.whileStale === 'introspect' && introspection === undefined)
    throw new TypeError("whileStale: 'introspect' needs the option introspection of the guard.");
  return resource;
}
