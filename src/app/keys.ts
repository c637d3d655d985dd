// Gives a process its keys: from the settings, unwrapped by a key service where they are wrapped, and in development
// from the data folder.
import { ConfigError, type Role, readVariables, vaultOf } from '../platform/config.ts';
import { askKeyService, KeyServiceError, type Purpose } from '../platform/kms/key-service.client.ts';
import { parseServiceKey, parseWrappedKey, writeWrappedKey } from '../platform/wrapped-key.ts';
import { obtainKey } from './local/kept-key.ts';
import { LocalStackError } from './local/local-stack-error.ts';
import type { Environment } from './roles.ts';

/** The keys that a process must have. An api has no part in the audit log, and is not given its key. */
const NEEDED: Readonly<Record<Exclude<Role, 'start'>, readonly Purpose[]>> = {
  api: ['MASTER_KEY'],
  worker: ['AUDIT_KEY', 'MASTER_KEY'],
  migrate: ['AUDIT_KEY', 'MASTER_KEY'],
  command: ['MASTER_KEY'],
};

/**
 * Asks the key service once for each wrapped key; a process never asks it again.
 * @returns the environment with the keys themselves, for this process alone: 32 bytes each, in base64
 * @throws ConfigError when a key service refuses, or a key for development cannot be kept; LocalStackError naming the
 *   setting when the service is away
 */
export async function withKeys(env: Environment, role: Exclude<Role, 'start'>): Promise<Environment> {
  const keys: Partial<Record<Purpose, string>> = {};
  // Without a database no secret is sealed, so no key is needed.
  const isDeveloping = env.NODE_ENV !== 'production' && Boolean(env.DATABASE_URL);
  for (const name of NEEDED[role])
    if (!env[name] && isDeveloping) keys[name] = await obtainKey(name, env.DATA_DIR || '.data');
  // `audit verify` is a command that takes the second key where it is there.
  const used: readonly Purpose[] = role === 'command' ? ['MASTER_KEY', 'AUDIT_KEY'] : NEEDED[role];
  await Promise.all(
    used.map(async (name) => {
      const given = env[name];
      if (given && /\w:/.test(given)) keys[name] = await unwrapAll(name, given, env);
    }),
  );
  return { ...env, ...keys };
}

/**
 * Has a key service wrap a key for a setting.
 * @param by `awskms:<key>` or `vault:<mount>/<name>`
 * @returns a text for that setting
 * @throws ConfigError when `by` has another form, or the service refuses; LocalStackError when it is away
 */
export async function wrapKey(
  env: Environment,
  by: string,
  plain: Uint8Array,
  purpose: Purpose,
): Promise<string> {
  const asked = parseServiceKey(by);
  if (asked === undefined) throw new ConfigError(by, 'must be awskms:<key> or vault:<mount>/<name>');
  const ciphertext = await askKeyService(asked, vaultOf(readVariables(env).read), (service) =>
    service.wrap(asked.key, plain, purpose),
  ).catch((error: unknown) => refuse(purpose, error));
  return writeWrappedKey({ ...asked, ciphertext });
}

/** Puts the keys in the place of the wrapped ones. What is neither is left to the check of the settings. */
async function unwrapAll(name: Purpose, given: string, env: Environment): Promise<string> {
  const texts = given.split(/[\s,]+/).map(async (text) => {
    const wrapped = parseWrappedKey(text);
    if (wrapped === undefined) return text;
    const key = await askKeyService(wrapped, vaultOf(readVariables(env).read), (service) =>
      service.unwrap(wrapped.key, wrapped.ciphertext, name),
    ).catch((error: unknown) => refuse(name, error));
    if (key.length !== 32) throw new ConfigError(name, `${wrapped.key} gave ${key.length} bytes, and not 32`);
    return Buffer.from(key).toString('base64');
  });
  return (await Promise.all(texts)).join(',');
}

function refuse(name: Purpose, error: unknown): never {
  if (!(error instanceof KeyServiceError)) throw error;
  if (error.isAway) throw new LocalStackError(`${name}: ${error.message}`, { cause: error });
  throw new ConfigError(name, error.message);
}
