// Types of workload issuers, the form of their names, and what a change gives or takes.
import { isIssuer } from '../users/subject.ts';
import type { WorkloadRule } from './claim-rules.ts';
import type { WorkloadIssuerRow } from './workload-issuer.model.ts';

/** An issuer whose assertions name workloads. Exactly one of `jwksUri` and `jwks` is not null. */
export type WorkloadIssuer = WorkloadIssuerRow;

type Trust = Pick<WorkloadIssuer, 'jwksUri' | 'jwks' | 'audiences' | 'rules'>;

/** A trust domain (SPIFFE ID §2.1), and the ID of a workload in it: a path of segments, none of them empty or dots. */
const TRUST_DOMAIN = /^spiffe:\/\/[a-z0-9._-]{1,255}$/;
const SPIFFE_ID = /^(spiffe:\/\/[a-z0-9._-]{1,255})((?:\/[A-Za-z0-9._-]+)+)$/;

/** Returns whether a text names an issuer of workloads: an https URL, or a SPIFFE trust domain. */
export function isWorkloadIssuer(text: string): boolean {
  return isTrustDomain(text) || isIssuer(text);
}

export function isTrustDomain(text: string): boolean {
  return TRUST_DOMAIN.test(text);
}

/** Returns the trust domain of a SPIFFE ID, as `spiffe://<name>`; undefined for any other value. */
export function trustDomainOf(sub: unknown): string | undefined {
  const parts = typeof sub === 'string' && sub.length <= 2_048 ? SPIFFE_ID.exec(sub) : null;
  if (parts === null) return undefined;
  const [, domain, path = ''] = parts;
  return path.split('/').some((segment) => segment === '.' || segment === '..') ? undefined : domain;
}

/**
 * Returns whether a change needs the scopes of all agents that a rule names before or after it: it can let an assertion
 * through that was refused before, or changes the rules. Taking a rule away needs them too, because it makes the check
 * of the next change of keys weaker.
 */
export function needsGrantor(before: Trust, after: Trust): boolean {
  return (
    hasOtherKeys(before, after) ||
    after.audiences.some((audience) => !before.audiences.includes(audience)) ||
    !isBeginning(after.rules, before.rules) ||
    !isBeginning(before.rules, after.rules)
  );
}

/** Returns whether a change can refuse an assertion that was accepted before. */
export function narrows(before: Trust, after: Trust): boolean {
  return (
    hasOtherKeys(before, after) ||
    before.audiences.some((audience) => !after.audiences.includes(audience)) ||
    !isBeginning(before.rules, after.rules)
  );
}

function hasOtherKeys(before: Trust, after: Trust): boolean {
  return before.jwksUri !== after.jwksUri || JSON.stringify(before.jwks) !== JSON.stringify(after.jwks);
}

/** Whether `others` begin with `rules`. The first rule that fits decides: without an earlier one a later one may. */
function isBeginning(rules: readonly WorkloadRule[], others: readonly WorkloadRule[]): boolean {
  return rules.every((rule, index) => {
    const other = others[index];
    return other !== undefined && nameOf(rule) === nameOf(other);
  });
}

function nameOf({ agentId, claims }: WorkloadRule): string {
  return JSON.stringify([agentId, Object.entries(claims).sort(([left], [right]) => (left < right ? -1 : 1))]);
}
