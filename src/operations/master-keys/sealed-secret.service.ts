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
import type { Breach } from '../../platform/database/breach.ts';
import type { KeyInUse, SealedColumn } from '../../platform/database/sealed-column.ts';
import type { Queryable } from '../../platform/database/transaction.ts';
import { Service } from '../../platform/service.ts';
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

  /**
   * All columns with sealed secrets. If secrets move from one column to another, the first comes before the
   * second.
   */
  columns: readonly SealedColumn[];
  masterKeys: readonly MasterKey[];
};

export class SealedSecretService extends Service<SealedSecretNeeds> {
  /** Lists the master keys of the settings, the first one seals, then those that stored secrets name beside them. */
  list = async (): Promise<ListedKey[]> => {
    const secrets = new Map<string, number>();
    for (const { keyId, secrets: count } of await this.#countByKey())
      secrets.set(keyId, (secrets.get(keyId) ?? 0) + count);
    const ids = new Set([...this.needs.masterKeys.map(({ id }) => id), ...secrets.keys()]);
    return [...ids].map((keyId) => ({
      keyId,
      seals: keyId === this.needs.masterKeys[0]?.id,
      missing: !this.#isHere(keyId),
      secrets: secrets.get(keyId) ?? 0,
    }));
  };

  /**
   * Says how many secrets the first key of the settings has sealed, and which are left under another one.
   * @throws SecretBoxError without a master key
   */
  readStanding = async (): Promise<KeyStanding> => {
    const { id } = this.#requireFirst();
    const counted = await this.#countByKey();
    const used = new Set(counted.map(({ keyId }) => keyId));
    return {
      keyId: id,
      secrets: counted.reduce((sum, { keyId, secrets }) => sum + (keyId === id ? secrets : 0), 0),
      remaining: counted.filter(({ keyId }) => keyId !== id),
      unused: this.needs.masterKeys.map((key) => key.id).filter((other) => other !== id && !used.has(other)),
    };
  };

  /**
   * Seals all secrets anew that are not sealed with the first master key. It can be repeated, and runs safely under
   * traffic: a secret that another transaction changes is skipped.
   * @param onProgress receives, after each page, the number of secrets sealed so far
   * @returns the numbers of secrets, and the other master keys that are still in use
   * @throws SecretBoxError without a master key
   */
  reseal = async (onProgress: (resealed: number) => void = () => undefined): Promise<ResealReport> => {
    const first = this.#requireFirst();
    let resealed = 0;
    let refused = 0;
    const onPage = (count: number) => {
      resealed += count;
      onProgress(resealed);
    };
    for (const column of this.needs.columns) {
      const used = await store.listKeysInUse(this.needs.database, [column]);
      for (const { keyId } of used.filter(({ keyId }) => keyId !== first.id && this.#isHere(keyId))) {
        let done = await this.#resealColumn(column, keyId, onPage);
        for (let pass = 1; done.skipped > 0 && pass < PASSES; pass += 1) {
          await sleep(PAUSE);
          done = await this.#resealColumn(column, keyId, onPage);
        }
        refused += done.refused;
      }
    }
    return {
      keyId: first.id,
      resealed,
      refused,
      remaining: (await this.#countByKey()).filter(({ keyId }) => keyId !== first.id),
    };
  };

  /**
   * Lists the master keys of stored secrets that the settings lack, in one statement whose cost does not grow with
   * the number of secrets.
   */
  listMissingKeys = async (): Promise<KeyInUse[]> =>
    (await store.listKeysInUse(this.needs.database, this.needs.columns)).filter(
      ({ keyId }) => !this.#isHere(keyId),
    );

  /** The same, as a breach. */
  findMissingKeys = async (): Promise<Breach> => {
    const missing = await this.listMissingKeys();
    const named = missing.map(({ table, column, keyId }) => `${table}.${column}: ${keyId}`).join(', ');
    return { count: missing.length, oldest: null, seconds: 0, named };
  };

  #isHere = (keyId: string) => this.needs.masterKeys.some(({ id }) => id === keyId);

  #sealAnew = ({ contextOf, beside }: SealedColumn, secret: SealedSecret): Resealed | undefined => {
    const context = contextOf(secret);
    try {
      const opened = openSecret(this.needs.masterKeys, context, secret.sealed);
      const anew = sealSecret(this.needs.masterKeys, context, opened);
      return { ...secret, anew, beside: beside?.of(this.needs.masterKeys, secret, opened) };
    } catch (error) {
      if (error instanceof SecretBoxError) return undefined;
      throw error;
    }
  };

  /** One pass over the secrets of a column that are sealed with one master key. */
  #resealColumn = async (column: SealedColumn, keyId: string, onPage: (count: number) => void) => {
    const done = { resealed: 0, refused: 0, skipped: 0 };
    for (let after: string = NIL; ; ) {
      const page = await store.list(this.needs.database, column, { keyId, after, limit: PAGE });
      const last = page.at(-1);
      if (last === undefined) return done;
      const secrets = page.flatMap((secret) => {
        const anew = this.#sealAnew(column, secret);
        return anew === undefined ? [] : [anew];
      });
      const count = secrets.length === 0 ? 0 : await store.replace(this.needs.database, column, secrets);
      done.resealed += count;
      done.skipped += secrets.length - count;
      done.refused += page.length - secrets.length;
      onPage(count);
      after = last.id;
    }
  };

  /** The secrets of each column by the master key that sealed them. */
  #countByKey = async (): Promise<Remaining[]> => {
    const counted = (await store.listKeysInUse(this.needs.database, this.needs.columns)).map(async (used) => {
      const column = this.needs.columns.find(
        ({ table, column }) => table === used.table && column === used.column,
      );
      const secrets = column === undefined ? 0 : await store.count(this.needs.database, column, [used.keyId]);
      return { ...used, secrets, missing: !this.#isHere(used.keyId) };
    });
    return Promise.all(counted);
  };

  #requireFirst = (): MasterKey => {
    const [first] = this.needs.masterKeys;
    if (first === undefined)
      throw new SecretBoxError('unknown_master_key', 'there is no master key to seal with');
    return first;
  };
}
