// A tenant's issuer keys: made, published, signed with. A private key must never leave this file unsealed, except into the signer.
import { createPublicKey, type KeyObject } from 'node:crypto';
import type { SigningAlgorithm, Tenant } from '../context.ts';
import { createBoundedCache } from '../crypto/bounded-cache.ts';
import { type MasterKey, openSecret, SecretBoxError, sealSecret } from '../crypto/secret-box.node.ts';
import { createShortLivedCache } from '../database/short-lived-cache.ts';
import type { Unit } from '../database/transaction.ts';
import type { IssuerStore } from './issuer.store.ts';
import {
  type IssuerJwk,
  type IssuerKey,
  PUBLISHED_AHEAD_SECONDS,
  sealingContext,
  selectSigningKey,
} from './issuer-key.ts';
import { generateIssuerKey, loadSigningKey, type SigningKey, signJws } from './jws.signer.ts';

/** Milliseconds for which a tenant's list of keys serves before it is read again. */
const LIST_LIFETIME = 2_000;

/** Milliseconds within which unknown key ids cause no second reading: a stranger's tokens must not cost queries. */
const UNKNOWN_KEY_PAUSE = 500;

/** Tenants, and keys, kept in the process. */
const KEPT = 10_000;

type TenantId = Pick<Tenant, 'id'>;

/** Signs claims with the key of one tenant. @returns a compact JWS */
export type SignClaims = (claims: object, options: { typ: string }) => string;

/**
 * Issuer keys by tenant. Source: RFC 7517, RFC 7638, RFC 9068.
 * @param now a monotonic clock in milliseconds, for the age of what was read
 */
export function createIssuerService({
  store,
  masterKeys,
  now,
}: {
  store: IssuerStore;
  masterKeys: readonly MasterKey[];
  now?: (() => number) | undefined;
}) {
  const lists = createShortLivedCache({
    load: store.listPublished,
    lifetime: LIST_LIFETIME,
    limit: KEPT,
    now,
    keep: (keys) => selectSigningKey(keys) !== undefined,
  });
  // A key's bytes never change under its kid, which is their hash; whether it may be used is decided by the list.
  const privateKeys = createBoundedCache<SigningKey>({ limit: KEPT });
  const publicKeys = createBoundedCache<KeyObject>({ limit: KEPT });

  async function addKey(
    unit: Unit,
    tenant: TenantId,
    algorithm: SigningAlgorithm,
    activateInSeconds: number,
  ): Promise<IssuerJwk> {
    const { publicJwk, pkcs8 } = await generateIssuerKey(algorithm);
    const privateSealed = sealSecret(masterKeys, sealingContext(tenant.id, publicJwk.kid), pkcs8);
    await store.insert(
      unit,
      tenant.id,
      { kid: publicJwk.kid, algorithm, publicJwk, privateSealed },
      activateInSeconds,
    );
    unit.afterCommit(() => lists.forget(tenant.id));
    return publicJwk;
  }

  function openKey(tenant: TenantId, { kid, algorithm, privateSealed }: IssuerKey): SigningKey {
    return privateKeys.get(kid, () =>
      loadSigningKey(kid, algorithm, openSecret(masterKeys, sealingContext(tenant.id, kid), privateSealed)),
    );
  }

  async function prepareSigning(tenant: TenantId): Promise<SignClaims> {
    const key = selectSigningKey(await lists.get(tenant.id));
    if (key === undefined) throw new Error(`the tenant ${tenant.id} has no issuer key that signs`);
    return (claims, { typ }) => signJws(openKey(tenant, key), claims, typ);
  }

  return {
    /** Makes a tenant's first key, which signs at once. */
    createFirstKey: (unit: Unit, tenant: TenantId, algorithm: SigningAlgorithm): Promise<IssuerJwk> =>
      addKey(unit, tenant, algorithm, 0),

    /**
     * Makes the tenant sign with another algorithm: a new key is published now and signs after `PUBLISHED_AHEAD_SECONDS`,
     * so that no verifier meets a key that it could not have seen. Asking for the present algorithm changes nothing.
     */
    changeAlgorithm: async (unit: Unit, tenant: TenantId, algorithm: SigningAlgorithm): Promise<void> => {
      const present = await store.settleAlgorithm(unit, tenant.id, algorithm);
      unit.afterCommit(() => lists.forget(tenant.id));
      if (present !== algorithm) await addKey(unit, tenant, algorithm, PUBLISHED_AHEAD_SECONDS);
    },

    /**
     * Signs claims with the tenant's present key; at most one query every 2 s, else none.
     * @param options.typ media type of the token without `application/`: `at+jwt`
     * @returns a compact JWS
     */
    sign: async (tenant: TenantId, claims: object, options: { typ: string }): Promise<string> =>
      (await prepareSigning(tenant))(claims, options),

    /** As `sign`, in two steps: the second needs no connection, so it can be done within a transaction. To be used at once. */
    prepareSigning,

    /**
     * Holds the master keys against the database: tries to open the issuer key that was sealed last.
     * @returns why it cannot be opened; undefined when it can, or when there is none yet
     */
    findSealingFault: async (): Promise<string | undefined> => {
      const newest = await store.findNewest();
      if (newest === undefined) return undefined;
      try {
        openSecret(masterKeys, sealingContext(newest.tenantId, newest.kid), newest.privateSealed);
        return undefined;
      } catch (error) {
        if (error instanceof SecretBoxError) return error.message;
        throw error;
      }
    },

    /** The tenant's JWK set: every key that signs, has signed within the life of a token, or is about to. */
    jwks: async (tenant: TenantId): Promise<{ keys: IssuerJwk[] }> => ({
      keys: (await lists.get(tenant.id)).map((key) => key.publicJwk),
    }),

    /** The published key of this id, or undefined. A key made moments ago by another process is found too. */
    verificationKey: async (
      tenant: TenantId,
      kid: string,
    ): Promise<{ algorithm: SigningAlgorithm; key: KeyObject } | undefined> => {
      const find = (keys: readonly IssuerKey[]) => keys.find((key) => key.kid === kid);
      const found = find(await lists.get(tenant.id)) ?? find(await lists.get(tenant.id, UNKNOWN_KEY_PAUSE));
      if (found === undefined) return undefined;
      const key = publicKeys.get(kid, () => createPublicKey({ key: { ...found.publicJwk }, format: 'jwk' }));
      return { algorithm: found.algorithm, key };
    },
  };
}

export type IssuerService = ReturnType<typeof createIssuerService>;
