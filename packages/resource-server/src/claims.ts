// The claims of an access token, as they were signed and before they were checked, and the agent that a route gets.

/** The `act` claim (RFC 8693 §4.1): who acts, and inside it who acted before. */
export type Act = {
  readonly sub: string;
  readonly iss?: string;
  readonly agent?: { readonly name: string; readonly capabilities: readonly string[] };
  readonly act?: Act;
};

/** Header and payload of a token whose signature is good. Nothing in them was checked yet. */
export type SignedToken = {
  readonly header: Readonly<Record<string, unknown>>;
  readonly claims: Readonly<Record<string, unknown>>;
};

/** Who calls, by an accepted token. */
export type VerifiedAgent = {
  /** `sub`. With `tenantId` it is the key of the principal. In a delegated token it is the user's UUID. */
  readonly subject: string;
  readonly tenantId: string;
  /** The agent that acts: `act.sub` of a delegated token, `sub` of any other. */
  readonly actor: string;
  readonly subjectType: string;
  readonly clientId: string;
  readonly tokenId: string;
  readonly scopes: readonly string[];
  /** Name and capabilities of the agent that acts. A token by client credentials may have neither. */
  readonly name: string | undefined;
  readonly capabilities: readonly string[];
  /** Only in a delegated token: the user for whom the agent acts, and all who act. */
  readonly delegation:
    | {
        readonly id: string | undefined;
        readonly user: { readonly iss: string; readonly sub: string } | undefined;
        readonly act: Act;
      }
    | undefined;
  /** RFC 7638 thumbprint of the key to which the token is bound. */
  readonly jkt: string | undefined;
  /** End of the token in Unix seconds. */
  readonly expiresAt: number;
  /** All claims as they were signed. */
  readonly claims: Readonly<Record<string, unknown>>;
};

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

/** @returns the scopes of the claim, none when it is absent or not a text */
export function scopesOf(claims: SignedToken['claims']): string[] {
  return isText(claims.scope) ? claims.scope.split(' ').filter((name) => name !== '') : [];
}

/** @returns the capabilities of the agent that acts: those of `act.agent` in a delegated token */
export function capabilitiesOf({ agent, act }: SignedToken['claims']): readonly string[] {
  const acting = isObject(act) ? act.agent : agent;
  const capabilities = isObject(acting) ? acting.capabilities : undefined;
  return Array.isArray(capabilities) ? capabilities.filter(isText) : [];
}

/** @returns the actors of the claim `act`, the present one first */
export function actorsOf(act: unknown): Act[] {
  const actors: Act[] = [];
  for (let level = act; isObject(level); level = level.act) actors.push(level as Act);
  return actors;
}

/** Describes the agent of a token whose claims were checked. */
export function describeAgent({ claims }: SignedToken): VerifiedAgent {
  const act = isObject(claims.act) ? (claims.act as Act) : undefined;
  const acting = act === undefined ? claims.agent : act.agent;
  const user = claims.delegated_subject;
  const subject = String(claims.sub);
  return {
    subject,
    tenantId: String(claims.tenant_id),
    actor: act?.sub ?? subject,
    subjectType: String(claims.subject_type),
    clientId: String(claims.client_id),
    tokenId: String(claims.jti),
    scopes: scopesOf(claims),
    name: isObject(acting) && isText(acting.name) ? acting.name : undefined,
    capabilities: capabilitiesOf(claims),
    delegation:
      act === undefined
        ? undefined
        : {
            id: isText(claims.delegation_id) ? claims.delegation_id : undefined,
            user:
              isObject(user) && isText(user.iss) && isText(user.sub)
                ? { iss: user.iss, sub: user.sub }
                : undefined,
            act,
          },
    jkt: boundKeyOf(claims),
    expiresAt: Number(claims.exp),
    claims,
  };
}

/** @returns the thumbprint of the key to which the token is bound by DPoP */
export function boundKeyOf({ cnf }: SignedToken['claims']): string | undefined {
  return isObject(cnf) && isText(cnf.jkt) ? cnf.jkt : undefined;
}
