// The entry `@countersign/agent/node`: the agent's key in a file that only its owner can read.
/// <reference types="node" />

import { constants } from 'node:fs';
import { mkdir, open, readFile, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { generateKey, type PrivateJwk } from './private-key.ts';

/** Reads a key: PEM (PKCS #8) or a JWK. @returns what `createAgent` takes as `key` */
export async function readKeyFile(path: string): Promise<string | PrivateJwk> {
  const text = (await readFile(path, 'utf8')).trim();
  return text.startsWith('{') ? (JSON.parse(text) as PrivateJwk) : text;
}

/** Writes a key as JWK, whole or not at all, readable by its owner only. Give it to `rotateKey` as `save`. */
export async function writeKeyFile(path: string, key: PrivateJwk): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const next = `${path}.next`;
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC;
  const file = await open(next, flags, 0o600);
  try {
    await file.writeFile(`${JSON.stringify(key)}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(next, path);
}

/** Reads the key of a file, and makes one there where the file does not exist. */
export async function loadOrCreateKey(
  path: string,
  algorithm?: 'ed25519' | 'es256',
): Promise<string | PrivateJwk> {
  try {
    return await readKeyFile(path);
  } catch (error) {
    if ((error as { code?: string }).code !== 'ENOENT') throw error;
  }
  const key = await generateKey(algorithm);
  await writeKeyFile(path, key);
  return key;
}
