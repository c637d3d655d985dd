// The signatures that a subscription can ask for. A new one is a new entry in `SIGNATURES`. Pure.
import { WEBHOOK_V1 } from '../../../packages/receiver/src/suites.ts';

/**
 * `service-webhook-v1`: the specified suite. `v1` and `v1a`: of Standard Webhooks 1.0, by the secret and by a key of
 * the tenant. `jwt`: a bearer token of the tenant's issuer in `Authorization`.
 */
export const SIGNATURES = [WEBHOOK_V1, 'v1', 'v1a', 'jwt'] as const;
export type SignatureName = (typeof SIGNATURES)[number];

/** The signatures of a subscription that chooses none. */
export const USUAL_SIGNATURES: readonly SignatureName[] = [WEBHOOK_V1, 'v1'];

/** Puts signatures into the order of `SIGNATURES`. */
export function orderSignatures(chosen: readonly SignatureName[]): SignatureName[] {
  return SIGNATURES.filter((name) => chosen.includes(name));
}

/** @returns whether one of the signatures is made with keys of the tenant */
export function needsTenantKeys(signatures: readonly string[]): boolean {
  return signatures.includes('v1a') || signatures.includes('jwt');
}
