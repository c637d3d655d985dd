// The error of a refused DPoP proof. Its detail is part of quoted strings in headers, so it repeats no part of the
// request.
import { ServiceError } from '../../platform/errors/service-error.ts';

/**
 * `invalid_dpop_proof` (RFC 9449 §5, §7.1), status 400; a resource answers 401 with it.
 * @param detail ASCII without `"` and `\`, so that it can be an `error_description` of a challenge (RFC 6750 §3)
 */
export function invalidProof(detail: string): ServiceError {
  return new ServiceError('invalid_dpop_proof', { detail });
}
