// The event that says that all access tokens of somebody have ended. Pure.
import type { EmittedEvent } from './event.ts';

/** Whose tokens end: the `sub` or `client_id` of the tokens, or their tenant. */
export type EndedPrincipal = {
  readonly kind: 'agent' | 'application' | 'workload_issuer' | 'tenant';
  readonly id: string;
};

/**
 * Describes the end of all access tokens of a principal. Resource servers read it in the feed. A use case that ends
 * tokens writes this event, or another one of `ACCESS_TYPES` that names the principal.
 * @param ends `now`: the tokens that were issued until now; `ever`: later ones too, until an event with `now`
 * @param cause the action of the audit entry
 */
export function allTokensEnded(principal: EndedPrincipal, ends: 'now' | 'ever', cause: string): EmittedEvent {
  const { kind, id: sub } = principal;
  return { type: 'auth.token.revoked', data: { token_type: 'all', sub, principal: kind, ends, cause } };
}
