// Reads the option `--jwks` of commands that create an application.
import { parseInput } from '../../platform/command-input.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import { createApplicationBody } from './application.schemas.ts';
import { type ApplicationJwks, readApplicationJwks } from './application-jwks.ts';

const jwksInput = createApplicationBody.pick({ jwks: true });

/** The option and its description. */
export const JWKS_OPTION = [
  '--jwks <json>',
  'JWK set of the public keys with which it authenticates (private_key_jwt)',
] as const;

/** @param text JSON @throws ServiceError `invalid_request` that names the option */
export function parseJwks(text: string | undefined): ApplicationJwks | undefined {
  if (text === undefined) return undefined;
  const { jwks } = parseInput(jwksInput, { jwks: parseJson(text) }, { jwks: '--jwks' });
  return jwks === undefined ? undefined : readApplicationJwks(jwks);
}

function parseJson(text: string): { keys: Record<string, unknown>[] } {
  try {
    return JSON.parse(text) as { keys: Record<string, unknown>[] };
  } catch {
    throw new ServiceError('invalid_request', { detail: '--jwks: is not JSON' });
  }
}
