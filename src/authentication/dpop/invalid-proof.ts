// The error for a refused DPoP proof. Its detail repeats no part of the request, because headers contain it as a quoted
// string.
import { ServiceError } from '../../platform/errors/service-error.ts';

/**
 * Creates `invalid_dpop_proof` (RFC 9449 §5, §7.1) with status 400. Routes that accept access tokens change it to 401.
 * @param detail ASCII without `"` and `\`, so that it can be the `error_description` of a challenge (RFC 6750 §3)
 */
export function invalidProof(detail: string): ServiceError {
  return new ServiceError('invalid_dpop_proof', { detail });
}
