// Keeps the access token of an account from one command to the next, so that several commands are one sign-in.
import { createHash } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { parseJson } from '../../platform/json-values.ts';
import type { Environment } from '../roles.ts';
import type { Account } from './account.ts';

/** `renewAt` is the time in milliseconds since 1970 from which a new one is asked for. */
export type KeptToken = { readonly text: string; readonly renewAt: number };

export type TokenKeeper = {
  readonly read: () => Promise<KeptToken | undefined>;
  readonly keep: (token: KeptToken) => Promise<void>;
};

/**
 * Tokens are files of this user alone below `$XDG_CACHE_HOME/countersign`, or `~/.cache`. The name is a digest with the
 * secret, so that another secret has another file. A folder that cannot be written keeps nothing.
 */
export function createTokenKeeper(env: Environment, account: Account): TokenKeeper {
  const home = env.XDG_CACHE_HOME || (env.HOME && join(env.HOME, '.cache'));
  if (!home) return { read: async () => undefined, keep: async () => {} };
  const { baseUrl, clientId, clientSecret } = account;
  const digest = createHash('sha256')
    .update(JSON.stringify([baseUrl, clientId, clientSecret]))
    .digest('hex');
  const file = join(home, 'countersign', `token-${digest.slice(0, 32)}.json`);
  return {
    read: async () => {
      const text = await readFile(file, 'utf8').catch(() => '');
      const { text: token, renewAt } = (parseJson(text) ?? {}) as Partial<Record<keyof KeptToken, unknown>>;
      return typeof token === 'string' && typeof renewAt === 'number' ? { text: token, renewAt } : undefined;
    },
    keep: async (token) => {
      // A command beside this one reads the old file or the new one, never a part.
      const fresh = `${file}.${process.pid}`;
      await mkdir(dirname(file), { recursive: true, mode: 0o700 })
        .then(() => writeFile(fresh, JSON.stringify(token), { mode: 0o600 }))
        .then(() => rename(fresh, file))
        .catch(() => {});
    },
  };
}
