// Publishes a tenant's issuer keys, and signs and verifies with them. Only the signer receives an unsealed private key.
// docs/decisions/0051-short-lived-caches.md

import type { KeyObject } from 'node:crypto';
import { createBoundedCache } from '../../platform/bounded-cache.ts';
import type { Tenant } from '../../platform/context.ts';
import { importJwk, type JwsKey } from '../../platform/crypto/jws.node.ts';
import { type MasterKey, openSecret, SecretBoxError } from '../../platform/crypto/secret-box.node.ts';
import { createCoalescer } from '../../platform/database/coalescer.ts';
import { createShortLivedCache } from '../../platform/database/short-lived-cache.ts';
import type { Queryable } from '../../platform/database/transaction.ts';
import { Service } from '../../platform/service.ts';
import type { RevocationService } from '../tokens/revocation.service.ts';
import type { KeyTable } from './issuer.store.ts';
import * as store from './issuer.store.ts';
import {
  type IssuerAlgorithm,
  type IssuerJwk,
  type IssuerKey,
  sealingContext,
  selectSigningKey,
} from './issuer-key.ts';
import { loadSigningKey, type SigningKey, signClaims } from './jws-signing.service.ts';

/**
 * Milliseconds for which a list is cached. It is safe, because a key is public for longer before and after it signs.
 */
const LIST_LIFETIME = 2_000;

/** Milliseconds without a second read for unknown key ids, so that invented key ids cause few queries. */
const UNKNOWN_KEY_PAUSE = 500;

const KEPT = 10_000;

type TenantId = Pick<Tenant, 'id'>;

/** Signs claims with the key of one tenant. @returns a compact JWS */
export type SignClaims = (claims: object, options: { typ: string }) => string;

/** A key that verifies tokens. `id` is its id in the revocation feed. */
export type VerificationKey = JwsKey<IssuerAlgorithm> & { readonly id: string };

export type IssuerNeeds = {
  database: Queryable;
  /** Of the keys. */
  table?: KeyTable | undefined;
  masterKeys: readonly MasterKey[];
  /** Contains the keys that were revoked after a list was read. */
  revocations: Pick<RevocationService, 'hasEnded'>;
  /** A monotonic clock in milliseconds, for the age of a list. */
  now?: (() => number) | undefined;
};

/** Gives requests access to the issuer keys of tenants. Source: RFC 7517, RFC 7638, RFC 9068. */
export class IssuerService extends Service<IssuerNeeds> {
  readonly #table = this.needs.table ?? 'issuer_keys';
  // A `kid` is the hash of its key, so a cached key stays correct. The list decides whether the key may be used.
  readonly #privateKeys = createBoundedCache<SigningKey>({ limit: KEPT });
  readonly #publicKeys = createBoundedCache<KeyObject>({ limit: KEPT });
  readonly #reads = createCoalescer({
    run: (tenantIds: readonly string[]) => store.list(this.needs.database, tenantIds, this.#table),
    limits: { batches: 1 },
  });
  readonly #lists = createShortLivedCache({
    load: async (tenantId) => {
      const keys = await this.#reads.add(tenantId);
      for (const { kid, privateSealed } of keys) if (privateSealed === null) this.#privateKeys.forget(kid);
      return keys;
    },
    lifetime: LIST_LIFETIME,
    limit: KEPT,
    now: this.needs.now,
    // A tenant has no event keys before its first stream; another process may make them at any time.
    keep: (keys) => this.#table === 'event_keys' || selectSigningKey(keys) !== undefined,
  });

  /** Prepares a signature. The returned function needs no connection, and the caller calls it immediately. */
  prepareSigning = async (tenant: TenantId): Promise<SignClaims> => {
    const key =
      selectSigningKey(await this.listKeys(tenant)) ?? selectSigningKey(await this.#lists.get(tenant.id, 0));
    if (key === undefined) throw new Error(`the tenant ${tenant.id} has no issuer key that signs`);
    return (claims, { typ }) => signClaims(this.#openKey(tenant, key), claims, typ);
  };

  /**
   * Checks that the master keys belong to this database by opening the issuer key that was sealed last.
   * @returns the reason when it cannot be opened; undefined when it can, or when there is no issuer key
   */
  findSealingFault = async (): Promise<string | undefined> => {
    const newest = await store.findNewest(this.needs.database);
    if (newest === undefined) return undefined;
    try {
      openSecret(this.needs.masterKeys, sealingContext(newest.tenantId, newest.kid), newest.privateSealed);
      return undefined;
    } catch (error) {
      if (error instanceof SecretBoxError) return error.message;
      throw error;
    }
  };

  /** Returns a list that is at most 2 s old, latest activation first. It names revoked keys too. */
  listKeys = async (tenant: TenantId): Promise<IssuerKey[]> => {
    const keys = await this.#lists.get(tenant.id);
    if (!keys.some(({ id, isRevoked }) => !isRevoked && this.needs.revocations.hasEnded(tenant.id, id)))
      return keys;
    this.#lists.forget(tenant.id);
    return this.#lists.get(tenant.id);
  };

  /** Returns the unrevoked keys; while the database does not answer, those of the last list that was read. */
  listPublished = async (tenant: TenantId): Promise<IssuerKey[]> => {
    const isLive = ({ id, isRevoked }: IssuerKey) =>
      !isRevoked && !this.needs.revocations.hasEnded(tenant.id, id);
    const keys = await this.#lists.getOrOld(tenant.id);
    // A list that names a revoked key is read again, because another key may have taken its place.
    const stale = keys.some(
      ({ id, isRevoked }) => !isRevoked && this.needs.revocations.hasEnded(tenant.id, id),
    );
    return (stale ? await this.listKeys(tenant).catch(() => keys) : keys).filter(isLive);
  };

  /** Returns the key with this id, or undefined. Revoked keys are found too, so the caller must check revocations. */
  verificationKey = async (tenant: TenantId, kid: string): Promise<VerificationKey | undefined> => {
    const find = (keys: readonly IssuerKey[]) => keys.find((key) => key.kid === kid);
    const found =
      find(await this.listKeys(tenant)) ?? find(await this.#lists.get(tenant.id, UNKNOWN_KEY_PAUSE));
    if (found === undefined) return undefined;
    const key = this.#publicKeys.get(kid, () => importJwk(found.publicJwk));
    return { id: found.id, algorithm: found.algorithm, key };
  };

  /**
   * Signs claims with the tenant's current key. At most one query every 2 s.
   * @param options.typ media type of the token without `application/`: `at+jwt`
   * @returns a compact JWS
   */
  sign = async (tenant: TenantId, claims: object, options: { typ: string }): Promise<string> =>
    (await this.prepareSigning(tenant))(claims, options);

  /** Returns the `kid` of the key that signs now; undefined when there is none. At most one query every 2 s. */
  signingKeyId = async (tenant: TenantId): Promise<string | undefined> =>
    selectSigningKey(await this.listKeys(tenant))?.kid;

  /** Drops the cached list of a tenant's keys. Called after the commit of a change. */
  forget = (tenantId: string): void => this.#lists.forget(tenantId);

  /**
   * Returns the JWK set: each unrevoked key that signs, will sign, or has signed a token that may be live. While the
   * database does not answer, it is the last set that this process has read, without keys whose revocation it knows.
   */
  jwks = async (tenant: TenantId): Promise<{ keys: IssuerJwk[] }> => ({
    keys: (await this.listPublished(tenant)).map(({ publicJwk }) => publicJwk),
  });

  #openKey = (tenant: TenantId, issuerKey: IssuerKey): SigningKey => {
    const { kid, privateSealed } = issuerKey;
    return this.#privateKeys.get(kid, () => {
      if (privateSealed === null) throw new Error(`the private half of the issuer key ${kid} is destroyed`);
      return loadSigningKey(
        issuerKey,
        openSecret(this.needs.masterKeys, sealingContext(tenant.id, kid), privateSealed),
      );
    });
  };
}
