// The signatures that a subscription can ask for. A new one is a new entry in `SIGNATURES`. Pure.
import { WEBHOOK_V1 } from './suites.ts';

/** `service-webhook-v1`: the specified suite. `v1`: of Standard Webhooks 1.0, by the secret. */
export const SIGNATURES = [WEBHOOK_V1, 'v1'] as const;
export type SignatureName = (typeof SIGNATURES)[number];

/** The signatures of a subscription that chooses none. */
export const USUAL_SIGNATURES: readonly SignatureName[] = [WEBHOOK_V1, 'v1'];

/** Puts signatures into the order of `SIGNATURES`. */
export function orderSignatures(chosen: readonly SignatureName[]): SignatureName[] {
  return SIGNATURES.filter((name) => chosen.includes(name));
}
