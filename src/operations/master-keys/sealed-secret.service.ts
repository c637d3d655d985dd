// Compares the master keys of stored secrets with the settings, and seals secrets anew with the first key. An opened
// secret does not leave this file.

import { setTimeout as sleep } from 'node:timers/promises';
import { NIL } from 'uuid';
import {
  type MasterKey,
  openSecret,
  SecretBoxError,
  sealSecret,
} from '../../platform/crypto/secret-box.node.ts';
import type { KeyInUse, SealedColumn } from '../../platform/database/sealed-column.ts';
import type { Queryable } from '../../platform/database/transaction.ts';
import { bindUseCases } from '../../platform/use-cases.ts';
import type { Resealed, SealedSecret } from './sealed-secret.store.ts';
import * as store from './sealed-secret.store.ts';

/**
 * After a run: the secrets of a column that are still sealed with another master key. `missing`: the settings lack that
 * key.
 */
export type Remaining = KeyInUse & { readonly secrets: number; readonly missing: boolean };

/** `refused`: secrets that their own master key does not open, because they were changed or moved. */
export type ResealReport = {
  readonly keyId: string;
  readonly resealed: number;
  readonly refused: number;
  readonly remaining: readonly Remaining[];
};

/** `seals`: new secrets get this key. `missing`: secrets name it, and the settings lack it. */
export type ListedKey = {
  readonly keyId: string;
  readonly seals: boolean;
  readonly missing: boolean;
  readonly secrets: number;
};

/**
 * How far the secrets have moved to the first key. `secrets`: those that it sealed. `unused`: keys of the settings that
 * no secret names.
 */
export type KeyStanding = {
  readonly keyId: string;
  readonly secrets: number;
  readonly remaining: readonly Remaining[];
  readonly unused: readonly string[];
};

/** Secrets that one statement reads or writes. */
const PAGE = 500;

/** The most passes over a column while other transactions change its rows, and milliseconds between two passes. */
const PASSES = 5;
const PAUSE = 1_000;

export type SealedSecretNeeds = {
  database: Queryable;

  columns: readonly SealedColumn[];
  masterKeys: readonly MasterKey[];
};

/**
 * @param options.columns all columns with sealed secrets. If secrets move from one column to another, the first comes
 *   before the second
 */
export function createSealedSecretService(needs: SealedSecretNeeds) {
  return {
    ...bindUseCases(needs, { list, readStanding, reseal }),
    /**
     * Lists the master keys of stored secrets that the settings lack, in one statement whose cost does not grow with
     * the number of secrets.
     */
    listMissingKeys: async (): Promise<KeyInUse[]> =>
      (await store.listKeysInUse(needs.database, needs.columns)).filter(({ keyId }) => !isHere(needs, keyId)),
  };
}

export type SealedSecretService = ReturnType<typeof createSealedSecretService>;

/** Lists the master keys of the settings, the first one seals, then those that stored secrets name beside them. */
async function list(needs: SealedSecretNeeds): Promise<ListedKey[]> {
  const secrets = new Map<string, number>();
  for (const { keyId, secrets: count } of await countByKey(needs))
    secrets.set(keyId, (secrets.get(keyId) ?? 0) + count);
  const ids = new Set([...needs.masterKeys.map(({ id }) => id), ...secrets.keys()]);
  return [...ids].map((keyId) => ({
    keyId,
    seals: keyId === needs.masterKeys[0]?.id,
    missing: !isHere(needs, keyId),
    secrets: secrets.get(keyId) ?? 0,
  }));
}

/**
 * Says how many secrets the first key of the settings has sealed, and which are left under another one.
 * @throws SecretBoxError without a master key
 */
async function readStanding(needs: SealedSecretNeeds): Promise<KeyStanding> {
  const { id } = requireFirst(needs);
  const counted = await countByKey(needs);
  const used = new Set(counted.map(({ keyId }) => keyId));
  return {
    keyId: id,
    secrets: counted.reduce((sum, { keyId, secrets }) => sum + (keyId === id ? secrets : 0), 0),
    remaining: counted.filter(({ keyId }) => keyId !== id),
    unused: needs.masterKeys.map((key) => key.id).filter((other) => other !== id && !used.has(other)),
  };
}

/**
 * Seals all secrets anew that are not sealed with the first master key. It can be repeated, and runs safely under
 * traffic: a secret that another transaction changes is skipped.
 * @param onProgress receives, after each page, the number of secrets sealed so far
 * @returns the numbers of secrets, and the other master keys that are still in use
 * @throws SecretBoxError without a master key
 */
async function reseal(
  needs: SealedSecretNeeds,
  onProgress: (resealed: number) => void = () => undefined,
): Promise<ResealReport> {
  const first = requireFirst(needs);
  let resealed = 0;
  let refused = 0;
  const onPage = (count: number) => {
    resealed += count;
    onProgress(resealed);
  };
  for (const column of needs.columns) {
    const used = await store.listKeysInUse(needs.database, [column]);
    for (const { keyId } of used.filter(({ keyId }) => keyId !== first.id && isHere(needs, keyId))) {
      let done = await resealColumn(needs, column, keyId, onPage);
      for (let pass = 1; done.skipped > 0 && pass < PASSES; pass += 1) {
        await sleep(PAUSE);
        done = await resealColumn(needs, column, keyId, onPage);
      }
      refused += done.refused;
    }
  }
  return {
    keyId: first.id,
    resealed,
    refused,
    remaining: (await countByKey(needs)).filter(({ keyId }) => keyId !== first.id),
  };
}

function isHere({ masterKeys }: SealedSecretNeeds, keyId: string) {
  return masterKeys.some(({ id }) => id === keyId);
}

function sealAnew(
  { masterKeys }: SealedSecretNeeds,
  { contextOf, beside }: SealedColumn,
  secret: SealedSecret,
): Resealed | undefined {
  const context = contextOf(secret);
  try {
    const opened = openSecret(masterKeys, context, secret.sealed);
    const anew = sealSecret(masterKeys, context, opened);
    return { ...secret, anew, beside: beside?.of(masterKeys, secret, opened) };
  } catch (error) {
    if (error instanceof SecretBoxError) return undefined;
    throw error;
  }
}

/** One pass over the secrets of a column that are sealed with one master key. */
async function resealColumn(
  needs: SealedSecretNeeds,
  column: SealedColumn,
  keyId: string,
  onPage: (count: number) => void,
) {
  const done = { resealed: 0, refused: 0, skipped: 0 };
  for (let after: string = NIL; ; ) {
    const page = await store.list(needs.database, column, { keyId, after, limit: PAGE });
    const last = page.at(-1);
    if (last === undefined) return done;
    const secrets = page.flatMap((secret) => {
      const anew = sealAnew(needs, column, secret);
      return anew === undefined ? [] : [anew];
    });
    const count = secrets.length === 0 ? 0 : await store.replace(needs.database, column, secrets);
    done.resealed += count;
    done.skipped += secrets.length - count;
    done.refused += page.length - secrets.length;
    onPage(count);
    after = last.id;
  }
}

/** The secrets of each column by the master key that sealed them. */
async function countByKey(needs: SealedSecretNeeds): Promise<Remaining[]> {
  const counted = (await store.listKeysInUse(needs.database, needs.columns)).map(async (used) => {
    const column = needs.columns.find(({ table, column }) => table === used.table && column === used.column);
    const secrets = column === undefined ? 0 : await store.count(needs.database, column, [used.keyId]);
    return { ...used, secrets, missing: !isHere(needs, used.keyId) };
  });
  return Promise.all(counted);
}

function requireFirst({ masterKeys }: SealedSecretNeeds): MasterKey {
  const [first] = masterKeys;
  if (first === undefined)
    throw new SecretBoxError('unknown_master_key', 'there is no master key to seal with');
  return first;
}
