// Publishes the directory of a tenant's keys, and takes the signatures that agents hand in for it. The service has no
// private key of an agent, so a key stands in the directory while its signature lasts.

import type { RequestContext } from '../../platform/context.ts';
import { decodeBase64 } from '../../platform/crypto/base64.ts';
import type { SignatureFields } from '../../platform/crypto/message-signature.ts';
import { jwkThumbprint } from '../../platform/crypto/public-key.ts';
import { StructuredFieldError } from '../../platform/crypto/structured-fields.ts';
import type { SignatureVerifier } from '../../platform/crypto/verify-signature.node.ts';
import type { Database } from '../../platform/database/database.ts';
import { PAGE_LIMIT } from '../../platform/database/page.ts';
import { createShortLivedCache } from '../../platform/database/short-lived-cache.ts';
import { invalidField, ServiceError } from '../../platform/errors/service-error.ts';
import { Service } from '../../platform/service.ts';
import type { RecordService } from '../../webhooks/intake/record.service.ts';
import type { AgentService } from '../agents/agent.service.ts';
import * as keyStore from './key.store.ts';
import type { ListedKey } from './key-directory.store.ts';
import * as store from './key-directory.store.ts';
import { directoryHeaders, MOST_LISTED, readDirectorySignature } from './key-directory.ts';
import { type AgentJwk, toJwks } from './key-set.ts';

/** Milliseconds for which a directory is used, so that each process shows a change within a second. */
const LIFETIME = 500;
const KEPT = 10_000;

export type KeyDirectory = {
  readonly document: { readonly keys: readonly AgentJwk[] };
  readonly headers: Readonly<Record<string, string>>;
};

export type KeyDirectoryNeeds = {
  database: Pick<Database, 'transaction' | 'query' | 'model'>;
  agents: Pick<AgentService, 'hold'>;
  verifier: Pick<SignatureVerifier, 'verifySignature'>;
  records: Pick<RecordService, 'write'>;
  /** `now`: milliseconds since 1970. `monotonic`: for the age of a directory. */
  clock: { now(): number; monotonic(): number };
};

/** Serves the keys of a tenant's agents as a signed directory, and keeps the signatures. Source: Web Bot Auth. */
export class KeyDirectoryService extends Service<KeyDirectoryNeeds> {
  readonly #directories = createShortLivedCache({
    load: async (tenantId) => describe(await store.list(this.needs.database, tenantId, MOST_LISTED)),
    lifetime: LIFETIME,
    limit: KEPT,
    now: this.needs.clock.monotonic,
  });

  /**
   * Keeps a signature of one of the agent's keys over responses of the directory, until it expires.
   * @throws ServiceError `not_found`, `invalid_request` naming the field; `conflict` when the directory is full
   */
  deposit = async (
    context: RequestContext,
    agentId: string,
    fields: SignatureFields,
  ): Promise<{ keyId: string; expiresAt: Date }> => {
    const tenantId = context.tenant.id;
    const { key, read } = await this.#check(context, agentId, fields);
    const expiresAt = new Date(read.expiresAt);
    const signature = decodeBase64(read.signature) ?? new Uint8Array();
    await this.needs.database.transaction(context, async (transaction) => {
      await this.needs.agents.hold(transaction, context, agentId);
      if ((await store.countOthers(transaction, tenantId, key.id)) >= MOST_LISTED)
        throw new ServiceError('conflict', { detail: `The directory has ${MOST_LISTED} keys already.` });
      if (!(await store.save(transaction, tenantId, key.id, read.input, signature, expiresAt)))
        throw new ServiceError('not_found', { detail: 'The agent has no such key any more.' });
      await this.needs.records.write(transaction, context, {
        audit: [
          {
            action: 'agent.key.listed',
            outcome: 'success',
            target: { type: 'key', id: key.id },
            keyId: key.id,
            data: {
              agent_id: agentId,
              key_fingerprint: key.fingerprint,
              expires_at: expiresAt.toISOString(),
            },
          },
        ],
      });
      transaction.afterCommit(() => this.#directories.forget(tenantId));
    });
    return { keyId: key.id, expiresAt };
  };

  /** Returns the directory, at most half a second old. It is empty while the tenant is suspended. */
  describe = async ({ tenant }: RequestContext): Promise<KeyDirectory> =>
    tenant.suspended ? describe([]) : this.#directories.get(tenant.id);

  /** Reads the signature, and finds its key among those of the agent. @throws ServiceError `invalid_request` */
  #check = async ({ tenant }: RequestContext, agentId: string, fields: SignatureFields) => {
    const authority = new URL(tenant.issuerUrl).host;
    const read = refusing(() => readDirectorySignature(fields, { authority, now: this.needs.clock.now() }));
    const owner = { tenantId: tenant.id, agentId };
    const usable = await keyStore.listUsable(this.needs.database, owner, PAGE_LIMIT.most);
    const key = usable.find(
      ({ algorithm, publicKey: raw }) =>
        algorithm === 'ed25519' && jwkThumbprint({ algorithm, raw }) === read.keyId,
    );
    if (key === undefined)
      throw invalidField('body.signature_input', 'has a keyid that is no live ed25519 key of the agent');
    const { algorithm, publicKey } = key;
    const { base: payload, signature } = read;
    if (!(await this.needs.verifier.verifySignature({ algorithm, publicKey, payload, signature })))
      throw invalidField('body.signature', `is not the key's over "@authority";req: ${authority}`);
    return { key, read };
  };
}

function describe(listed: readonly ListedKey[]): KeyDirectory {
  return { document: { keys: toJwks(listed) }, headers: directoryHeaders(listed) };
}

/** Makes a fault of a structured field a refusal that names the field of the body. */
function refusing<Result>(read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    if (error instanceof StructuredFieldError) throw invalidField('body.signature_input', error.message);
    throw error;
  }
}
