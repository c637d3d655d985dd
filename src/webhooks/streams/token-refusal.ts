// Reads why a receiver has refused a security event token (RFC 8935 §2.3, RFC 8936 §2.4.4). Pure.
import type { Outcome } from '../../platform/egress/outcome.ts';

const ERROR_CODE = /^[A-Za-z0-9_.:-]{1,64}$/;

/** The error code of a refusal, such as `set:invalid_key`. A receiver's free text is never part of it. */
export function refusalCode(err: unknown): string {
  return typeof err === 'string' && ERROR_CODE.test(err) ? `set:${err}` : 'set:other';
}

/**
 * Names the `err` of an answer 400 in the outcome. Other outcomes stay as they are.
 * @param answer the beginning of the body
 */
export function refineOutcome(outcome: Outcome, answer: Uint8Array | undefined): Outcome {
  if (outcome.kind !== 'rejected' || outcome.statusCode !== 400 || answer === undefined) return outcome;
  try {
    const body: unknown = JSON.parse(new TextDecoder().decode(answer));
    const isError = typeof body === 'object' && body !== null && 'err' in body;
    return isError ? { ...outcome, error: refusalCode(body.err) } : outcome;
  } catch {
    return outcome;
  }
}
