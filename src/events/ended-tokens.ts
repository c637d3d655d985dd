// Events that end tokens: the one that says that all of somebody's have ended, and those whose time decides which.
// Pure.
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

/** Events that name more than one token or none, and end what was issued until their `occurred_at`. */
const BY_TIME: readonly string[] = ['admin.agent.key.revoked', 'admin.agent.reactivated'];

/** Returns whether resource servers compare the time of the event with the times of tokens. */
export function endsByTime({ type, data }: Pick<EmittedEvent, 'type' | 'data'>): boolean {
  return BY_TIME.includes(type) || (type === 'auth.token.revoked' && data.token_type !== 'access_token');
}
