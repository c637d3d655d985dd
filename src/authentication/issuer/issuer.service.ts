// A tenant's issuer keys for requests: publishing, signing, verifying. Only the signer receives an unsealed private
// key.
import type { KeyObject } from 'node:crypto';
import { createBoundedCache } from '../../platform/bounded-cache.ts';
import type { SigningAlgorithm, Tenant } from '../../platform/context.ts';
import { importJwk, type JwsKey } from '../../platform/crypto/jws.node.ts';
import { type MasterKey, openSecret, SecretBoxError } from '../../platform/crypto/secret-box.node.ts';
import { createShortLivedCache } from '../../platform/database/short-lived-cache.ts';
import type { Queryable } from '../../platform/database/transaction.ts';
import type { RevocationService } from '../tokens/revocation.service.ts';
import * as store from './issuer.store.ts';
import { type IssuerJwk, type IssuerKey, sealingContext, selectSigningKey } from './issuer-key.ts';
import { loadSigningKey, type SigningKey, signClaims } from './jws-signing.service.ts';

/**
 * Milliseconds for which a tenant's list of keys is used before it is read again. A key may begin to sign later by this
 * time, and the key before it may sign longer by this time; both are published for far longer.
 */
const LIST_LIFETIME = 2_000;

/**
 * Milliseconds within which unknown key ids cause no second read: tokens with invented key ids must cost no queries.
 */
const UNKNOWN_KEY_PAUSE = 500;

/** The most tenants, and the most keys, that a process keeps. */
const KEPT = 10_000;

type TenantId = Pick<Tenant, 'id'>;

/** Signs claims with the key of one tenant. @returns a compact JWS */
export type SignClaims = (claims: object, options: { typ: string }) => string;

/** A key that verifies tokens. `id`: its id in the revocation feed. */
export type VerificationKey = JwsKey<SigningAlgorithm> & { readonly id: string };

/**
 * Issuer keys by tenant. Source: RFC 7517, RFC 7638, RFC 9068.
 * @param revocations has the keys that were revoked after a list was read
 * @param now a monotonic clock in milliseconds, for the age of a list
 */
export function createIssuerService({
  database,
  masterKeys,
  revocations,
  now,
}: {
  database: Queryable;
  masterKeys: readonly MasterKey[];
  revocations: Pick<RevocationService, 'hasEnded'>;
  now?: (() => number) | undefined;
}) {
  // The bytes of a key never change under its kid, which is their hash; the list decides whether the key may be used.
  const privateKeys = createBoundedCache<SigningKey>({ limit: KEPT });
  const publicKeys = createBoundedCache<KeyObject>({ limit: KEPT });
  const lists = createShortLivedCache({
    load: async (tenantId) => {
      const keys = await store.list(database, tenantId);
      for (const { kid, privateSealed } of keys) if (privateSealed === null) privateKeys.forget(kid);
      return keys;
    },
    lifetime: LIST_LIFETIME,
    limit: KEPT,
    now,
    keep: (keys) => selectSigningKey(keys) !== undefined,
  });

  /** The tenant's keys: at most 2 s old, and read after each revocation of one of them that the feed has reported. */
  async function listKeys(tenant: TenantId): Promise<IssuerKey[]> {
    const keys = await lists.get(tenant.id);
    if (!keys.some(({ id, isRevoked }) => !isRevoked && revocations.hasEnded(id))) return keys;
    lists.forget(tenant.id);
    return lists.get(tenant.id);
  }

  function openKey(tenant: TenantId, { kid, algorithm, privateSealed }: IssuerKey): SigningKey {
    return privateKeys.get(kid, () => {
      if (privateSealed === null) throw new Error(`the private half of the issuer key ${kid} is destroyed`);
      return loadSigningKey(
        kid,
        algorithm,
        openSecret(masterKeys, sealingContext(tenant.id, kid), privateSealed),
      );
    });
  }

  async function prepareSigning(tenant: TenantId): Promise<SignClaims> {
    const key = selectSigningKey(await listKeys(tenant));
    if (key === undefined) throw new Error(`the tenant ${tenant.id} has no issuer key that signs`);
    return (claims, { typ }) => signClaims(openKey(tenant, key), claims, typ);
  }

  return {
    /**
     * Signs claims with the tenant's present key; at most one query every 2 s.
     * @param options.typ media type of the token without `application/`: `at+jwt`
     * @returns a compact JWS
     */
    sign: async (tenant: TenantId, claims: object, options: { typ: string }): Promise<string> =>
      (await prepareSigning(tenant))(claims, options),

    /**
     * As `sign`, in two steps: the second needs no connection, so it can run inside a transaction. The caller signs
     * immediately.
     */
    prepareSigning,

    /**
     * Checks that the master keys fit the database: tries to open the issuer key that was sealed last.
     * @returns the reason when it cannot be opened; undefined when it can, or when there is none yet
     */
    findSealingFault: async (): Promise<string | undefined> => {
      const newest = await store.findNewest(database);
      if (newest === undefined) return undefined;
      try {
        openSecret(masterKeys, sealingContext(newest.tenantId, newest.kid), newest.privateSealed);
        return undefined;
      } catch (error) {
        if (error instanceof SecretBoxError) return error.message;
        throw error;
      }
    },

    /** Makes the next use of the tenant's keys read them again. Called after the commit of a change. */
    forget: (tenantId: string): void => lists.forget(tenantId),

    /** The tenant's JWK set: each key that signs, will sign, or signed a token that may be live; no revoked key. */
    jwks: async (tenant: TenantId): Promise<{ keys: IssuerJwk[] }> => ({
      keys: (await listKeys(tenant)).flatMap(({ isRevoked, publicJwk }) => (isRevoked ? [] : [publicJwk])),
    }),

    /**
     * The key with this id, or undefined. A key that another process has just made is found too, and so is a revoked
     * key: a caller that verifies with it must check the revocations.
     */
    verificationKey: async (tenant: TenantId, kid: string): Promise<VerificationKey | undefined> => {
      const find = (keys: readonly IssuerKey[]) => keys.find((key) => key.kid === kid);
      const found = find(await listKeys(tenant)) ?? find(await lists.get(tenant.id, UNKNOWN_KEY_PAUSE));
      if (found === undefined) return undefined;
      const key = publicKeys.get(kid, () => importJwk(found.publicJwk));
      return { id: found.id, algorithm: found.algorithm, key };
    },
  };
}

export type IssuerService = ReturnType<typeof createIssuerService>;
