// Reads the option `--jwks` of commands that create an application. What judges keys is loaded when it is given.
import { ServiceError } from '../../platform/errors/service-error.ts';
import type { ApplicationJwks } from './application-jwks.ts';

/** The option and its description. */
export const JWKS_OPTION = [
  '--jwks <json>',
  'JWK set of the public keys with which it authenticates (private_key_jwt)',
] as const;

/** @param text JSON @throws ServiceError `invalid_request` that names the option */
export async function parseJwks(text: string | undefined): Promise<ApplicationJwks | undefined> {
  if (text === undefined) return undefined;
  const { parseInput } = await import('../../platform/command-input.ts');
  const { createApplicationBody } = await import('./application.schemas.ts');
  const { readApplicationJwks } = await import('./application-jwks.ts');
  const jwksInput = createApplicationBody.pick({ jwks: true });
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
