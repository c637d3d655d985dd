// What a resource server must check (Specification, "Validation required of resource servers"), as tables with one
// function a claim. Each function returns what is wrong, as a text for people; undefined when nothing is.
import { boundKeyOf, capabilitiesOf, isObject, isText, type SignedToken, scopesOf } from './claims.ts';
import type { RefusalCode } from './refusal.ts';

/** The parties of a delegated token: the user for whom, and the agent that acts. */
export type Parties = {
  /** `sub`: the UUID of the user in this tenant. */
  readonly subject: string;
  /** `act.sub`: the agent that acts. */
  readonly actor: string;
};

/** What one route requires of a token. */
export type Rules = {
  /** Scopes, all of which the token must have: one, several in a list, or several in a text with spaces. */
  readonly scope?: string | readonly string[] | undefined;
  /** Capabilities, all of which the agent that acts must have. */
  readonly capability?: string | readonly string[] | undefined;
  /** The kind of subject: `agent` unless it is given. `any` admits every kind. */
  readonly subjectType?: 'agent' | 'human' | 'any' | undefined;
  /**
   * Delegated tokens: `refuse` (the default), `accept`, `require`, or a function that decides by both parties and
   * refuses tokens of one party.
   */
  readonly delegated?: 'refuse' | 'accept' | 'require' | ((parties: Parties) => boolean) | undefined;
};

/** What a token is compared with. */
export type Expectations = {
  readonly issuer: string;
  readonly audiences: readonly string[];
  /** When absent, the issuer alone decides the tenant: each tenant has an issuer of its own. */
  readonly tenantId: string | undefined;
  /** Unix seconds. */
  readonly now: number;
  readonly clockToleranceSeconds: number;
  readonly scheme: 'bearer' | 'dpop';
  readonly requiresProof: boolean;
  readonly rules: Rules;
};

/** All rules that there are: one that is misspelt must not be left out in silence. */
const RULES: Readonly<Record<keyof Rules, true>> = {
  scope: true,
  capability: true,
  subjectType: true,
  delegated: true,
};

/** @throws TypeError for a member that is no rule */
export function checkRules(rules: Rules): void {
  requireKnown(rules, RULES, 'rule');
}

/** @throws TypeError for a member of an object that is not among the known ones */
export function requireKnown(given: object, known: Readonly<Record<string, true>>, kind: string): void {
  const wrong = Object.keys(given).find((name) => !Object.hasOwn(known, name));
  if (wrong === undefined) return;
  throw new TypeError(`${wrong} is no ${kind}; there are ${Object.keys(known).join(', ')}.`);
}

export type Check = {
  readonly claim: string;
  readonly code: RefusalCode;
  readonly findFault: (token: SignedToken, expected: Expectations) => string | undefined;
};

/** Levels of `act` in a token: the service issues no more. */
const MOST_ACTORS = 5;

const invalid = (claim: string, findFault: Check['findFault']): Check => ({
  claim,
  code: 'invalid_token',
  findFault,
});
const forbidden = (claim: string, findFault: Check['findFault']): Check => ({
  claim,
  code: 'insufficient_scope',
  findFault,
});

/** Whether the token is one, is for this server and is presented as it must be. Their failure is 401. */
export const VALIDITY: readonly Check[] = [
  invalid('typ', ({ header: { typ } }) =>
    isText(typ) && /^(application\/)?at\+jwt$/i.test(typ) ? undefined : 'The token is not an access token.',
  ),
  invalid('iss', ({ claims }, { issuer }) =>
    claims.iss === issuer ? undefined : `The access token is not of the issuer ${issuer}.`,
  ),
  invalid('aud', ({ claims: { aud } }, { audiences }) => {
    const named: unknown[] = Array.isArray(aud) ? aud : [aud];
    return named.some((name) => isText(name) && audiences.includes(name))
      ? undefined
      : `The access token is not meant for ${audiences.join(' or ')}.`;
  }),
  invalid('exp', ({ claims: { exp } }) =>
    typeof exp === 'number' && Number.isFinite(exp) ? undefined : 'The access token has no end.',
  ),
  {
    claim: 'exp in the future',
    code: 'token_expired',
    findFault: ({ claims: { exp } }, { now, clockToleranceSeconds }) =>
      Number(exp) + clockToleranceSeconds <= now ? 'The access token has expired.' : undefined,
  },
  invalid('nbf', ({ claims: { nbf } }, { now, clockToleranceSeconds }) =>
    nbf === undefined || (typeof nbf === 'number' && nbf <= now + clockToleranceSeconds)
      ? undefined
      : 'The access token is not valid yet.',
  ),
  invalid('iat', ({ claims: { iat } }) =>
    typeof iat === 'number' && Number.isFinite(iat) ? undefined : 'The access token has no time of issue.',
  ),
  invalid('jti', ({ claims: { jti } }) => (isText(jti) ? undefined : 'The access token has no id.')),
  invalid('sub', ({ claims: { sub } }) => (isText(sub) ? undefined : 'The access token has no subject.')),
  invalid('client_id', ({ claims }) =>
    isText(claims.client_id) ? undefined : 'The access token names no client.',
  ),
  invalid('tenant_id', ({ claims: { tenant_id: tenant } }, { tenantId }) =>
    isText(tenant) && (tenantId === undefined || tenant === tenantId)
      ? undefined
      : 'The access token is of another tenant.',
  ),
  invalid('agent', ({ claims: { agent } }) =>
    agent === undefined || isAgent(agent) ? undefined : 'The agent claim of the access token is malformed.',
  ),
  invalid('act form', ({ claims: { act } }) =>
    act === undefined || isAct(act) ? undefined : 'The act claim of the access token is malformed.',
  ),
  invalid('cnf form', ({ claims }) =>
    claims.cnf === undefined || boundKeyOf(claims) !== undefined
      ? undefined
      : 'The access token is bound in a way that this server cannot check.',
  ),
  invalid('cnf.jkt as bearer', ({ claims }, { scheme }) =>
    scheme === 'bearer' && claims.cnf !== undefined
      ? 'The access token is bound to a key and must not be used as a plain bearer token.'
      : undefined,
  ),
  invalid('cnf.jkt absent', ({ claims }, { scheme }) =>
    scheme === 'dpop' && claims.cnf === undefined ? 'The access token is not bound to a key.' : undefined,
  ),
  invalid('cnf.jkt required', ({ claims }, { requiresProof }) =>
    requiresProof && claims.cnf === undefined
      ? 'This server accepts only access tokens that are bound to a key.'
      : undefined,
  ),
];

/** Whether the token allows this request. They are asked last, and their failure is 403. */
export const PERMISSION: readonly Check[] = [
  forbidden('subject_type', ({ claims }, { rules: { subjectType = 'agent' } }) =>
    subjectType === 'any' || claims.subject_type === subjectType
      ? undefined
      : `The access token is not of the kind of subject that is required: ${subjectType}.`,
  ),
  forbidden('scope', ({ claims }, { rules }) => {
    const granted = scopesOf(claims);
    const lacking = requiredScopes(rules).filter((scope) => !granted.includes(scope));
    return lacking.length === 0 ? undefined : `The access token lacks the scope ${lacking.join(' ')}.`;
  }),
  forbidden('capabilities', ({ claims }, { rules }) => {
    const declared = capabilitiesOf(claims);
    const lacking = listOf(rules.capability).filter((capability) => !declared.includes(capability));
    return lacking.length === 0 ? undefined : `The agent lacks the capability ${lacking.join(' ')}.`;
  }),
  forbidden('act', ({ claims }, { rules: { delegated = 'refuse' } }) => {
    const { act, sub } = claims;
    if (!isObject(act)) {
      return delegated === 'require' || typeof delegated === 'function'
        ? 'Only an agent that acts for a user may do this.'
        : undefined;
    }
    if (delegated === 'refuse') return 'An agent that acts for a user may not do this.';
    return typeof delegated !== 'function' || delegated({ subject: String(sub), actor: String(act.sub) })
      ? undefined
      : 'This agent may not do this for this user.';
  }),
];

/** @returns the first check that fails, with what is wrong */
export function findFault(
  checks: readonly Check[],
  token: SignedToken,
  expected: Expectations,
): { readonly claim: string; readonly code: RefusalCode; readonly detail: string } | undefined {
  for (const { claim, code, findFault: find } of checks) {
    const detail = find(token, expected);
    if (detail !== undefined) return { claim, code, detail };
  }
  return undefined;
}

/** @returns the scopes that a route requires; a text may have several, with spaces, as the claim has */
export function requiredScopes({ scope }: Rules): readonly string[] {
  return listOf(scope).flatMap((names) => names.split(' ').filter((name) => name !== ''));
}

/** @returns one name or several as a list */
export function listOf(names: string | readonly string[] | undefined): readonly string[] {
  return names === undefined ? [] : typeof names === 'string' ? [names] : names;
}

function isAgent(agent: unknown): boolean {
  return (
    isObject(agent) &&
    typeof agent.name === 'string' &&
    Array.isArray(agent.capabilities) &&
    agent.capabilities.every((capability) => typeof capability === 'string')
  );
}

function isAct(act: unknown, depth = 1): boolean {
  return (
    depth <= MOST_ACTORS &&
    isObject(act) &&
    isText(act.sub) &&
    (act.agent === undefined || isAgent(act.agent)) &&
    (act.act === undefined || isAct(act.act, depth + 1))
  );
}
