// Registers, verifies, deprecates and revokes agents' keys. A revocation also ends the key's tokens, in the same
// transaction.

import { buildKeyProofPayload } from '../../../packages/agent/src/payloads.ts';
import type { AuditEntry } from '../../audit/audit.ts';
import type { TokenService } from '../../authentication/tokens/token.service.ts';
import type { JsonObject } from '../../events/event.ts';
import type { RequestContext } from '../../platform/context.ts';
import {
  fingerprint,
  fingerprintAliases,
  jwkThumbprint,
  type PublicKey,
} from '../../platform/crypto/public-key.ts';
import type { SignatureVerifier } from '../../platform/crypto/verify-signature.node.ts';
import type { Database } from '../../platform/database/database.ts';
import { newId } from '../../platform/database/ids.ts';
import { PAGE_LIMIT, type Page, type PageRequest } from '../../platform/database/page.ts';
import type { Transaction } from '../../platform/database/transaction.ts';
import { invalidField, ServiceError } from '../../platform/errors/service-error.ts';
import { Service } from '../../platform/service.ts';
import type { RecordService } from '../../webhooks/intake/record.service.ts';
import type { AgentService } from '../agents/agent.service.ts';
import { type AgentPart, partOf } from '../agents/agent.ts';
import { checkCredentialGrantor } from './credential-grantor.ts';
import type { StoredKey } from './key.store.ts';
import * as store from './key.store.ts';
import { type AgentKey, type KeyState, mayDeprecate, prolongs, resolveSunset, stateAt } from './key.ts';
import { type PublicKeyInput, readPublicKey } from './key-input.ts';
import type { ChangedBy, RotationProgressService } from './rotation-progress.service.ts';

export type { AgentKey } from './key.ts';

/** `proof` is a base64 signature over the text of `buildKeyProofPayload`. */
export type NewKey = PublicKeyInput & {
  readonly label?: string | null | undefined;
  readonly proof?: string | undefined;
};

/** `receiptId` names the receipt of a revocation, which says who has acknowledged it. */
export type EndedKey = AgentKey & { readonly receiptId?: string | undefined };

type Verb = 'registered' | 'verified' | 'deprecated' | 'revoked';

export type KeyNeeds = {
  database: Pick<Database, 'transaction' | 'query' | 'model'>;
  agents: Pick<AgentService, 'get' | 'hold'>;
  verifier: Pick<SignatureVerifier, 'verifySignature'>;
  records: Pick<RecordService, 'write'>;
  /** Ends the tokens of a key. */
  tokens: Pick<TokenService, 'revokeTokensOfKey'>;
  /** Updates the rotations of a changed key. */
  rotations: Pick<RotationProgressService, 'follow'>;
};

/** Manages the keys of a tenant's agents. Source: Specification, "Agent key", "Key state". */
export class KeyService extends Service<KeyNeeds> {
  /**
   * Registers an active key for an agent. A key with a valid `proof` is verified immediately. Emits
   * `admin.agent.key.registered`, then `admin.agent.key.verified`.
   * @throws ServiceError `invalid_request` naming the field; as `add`
   */
  register = async (context: RequestContext, agentId: string, input: NewKey): Promise<AgentKey> => {
    const key = readPublicKey(input);
    // Verified before any row is locked, because it can take time.
    const isVerified = input.proof !== undefined;
    if (input.proof !== undefined) await this.#checkProof(context, agentId.toLowerCase(), key, input.proof);
    return this.add(context, agentId, key, { label: input.label ?? null, isVerified });
  };

  /**
   * Adds a key that the caller has parsed. `isVerified`: the caller has checked a proof of the key.
   * @throws ServiceError `not_found` (agent), `key_exists`; `insufficient_scope` when the principal is not the agent
   *   and
   * lacks one of its scopes
   */
  add = (
    context: RequestContext,
    agentId: string,
    key: PublicKey,
    { label, isVerified }: { readonly label: string | null; readonly isVerified: boolean },
  ): Promise<AgentKey> =>
    this.needs.database.transaction(context, async (transaction) => {
      const agent = await this.needs.agents.hold(transaction, context, agentId);
      checkCredentialGrantor(context.principal, agent);
      const row = {
        id: newId(),
        tenantId: context.tenant.id,
        agentId: agent.id,
        algorithm: key.algorithm,
        publicKey: Buffer.from(key.raw),
        fingerprint: fingerprint(key.raw),
        aliases: fingerprintAliases(key),
        jwkThumbprint: jwkThumbprint(key),
        label,
      };
      await store.insert(transaction, row);
      if (isVerified) await store.markVerified(transaction, row.id);
      const verified = { verb: 'verified', data: { method: 'proof' } } as const;
      await this.#record(transaction, context, row, [
        { verb: 'registered', data: { label: row.label } },
        ...(isVerified ? [verified] : []),
      ]);
      return reread(transaction, partOf(context, agent.id, row.id));
    });

  /**
   * Parses a key and checks that its owner holds the private half. Writes nothing.
   * @throws ServiceError `invalid_request` naming `body.public_key` or `body.proof`
   */
  prove = async (
    context: RequestContext,
    agentId: string,
    input: PublicKeyInput & { readonly proof: string },
  ): Promise<PublicKey> => {
    const key = readPublicKey(input);
    await this.#checkProof(context, agentId, key, input.proof);
    return key;
  };

  /** @throws ServiceError `not_found` for a key of another agent, or an agent of another tenant */
  get = async (context: RequestContext, agentId: string, id: string): Promise<AgentKey> => {
    await this.needs.agents.get(context, agentId);
    const key = await store.find(context.transaction ?? this.needs.database, partOf(context, agentId, id));
    if (key === undefined) throw unknownKey();
    return present(key);
  };

  /** Returns a page, newest first. @throws ServiceError `not_found` */
  list = async (
    context: RequestContext,
    agentId: string,
    request: PageRequest & { readonly state?: KeyState | undefined },
  ): Promise<Page<AgentKey>> => {
    await this.needs.agents.get(context, agentId);
    const owner = { tenantId: context.tenant.id, agentId };
    const page = await store.list(context.transaction ?? this.needs.database, owner, request);
    return { data: page.data.map(present), nextCursor: page.nextCursor };
  };

  /** Lists the keys with which an agent may authenticate, newest first, at most `PAGE_LIMIT.most`. */
  listUsable = async (context: RequestContext, agentId: string): Promise<AgentKey[]> => {
    const owner = { tenantId: context.tenant.id, agentId };
    return (await store.listUsable(context.transaction ?? this.needs.database, owner, PAGE_LIMIT.most)).map(
      present,
    );
  };

  /**
   * Deprecates a key: it still authenticates, with a warning, until its sunset. For a deprecated key it changes the
   * sunset, and a later one needs what a new key of the agent needs. Emits `admin.agent.key.deprecated`.
   * @param sunset a time, or seconds from now; 7 days from now when absent. The time may depend on that of the
   * database, which is read when the key is locked
   * @throws ServiceError `not_found`, `invalid_request`, `conflict` for a revoked key; `insufficient_scope` for a later
   *   sunset when the principal is not the agent and lacks one of its scopes
   */
  deprecate = (
    context: RequestContext,
    agentId: string,
    id: string,
    {
      sunsetAt,
      sunsetAfterSeconds,
    }: {
      readonly sunsetAt?: Date | ((now: Date) => Date) | undefined;
      readonly sunsetAfterSeconds?: number | undefined;
    },
    by: ChangedBy = 'hand',
  ): Promise<AgentKey> =>
    this.needs.database.transaction(context, async (transaction) => {
      const agent = await this.needs.agents.hold(transaction, context, agentId);
      const name = partOf(context, agentId, id);
      const key = await lock(transaction, name);
      const given = typeof sunsetAt === 'function' ? sunsetAt(key.readAt) : sunsetAt;
      const resolved = resolveSunset({ sunsetAt: given, sunsetAfterSeconds }, key.readAt);
      if ('problem' in resolved)
        throw invalidField(`body.${resolved.problem.field}`, resolved.problem.message);
      if (!mayDeprecate(stateAt(key, key.readAt)))
        throw new ServiceError('conflict', { detail: 'The key is revoked, which is final.' });
      if (prolongs(key, resolved.sunsetAt)) checkCredentialGrantor(context.principal, agent);
      await store.deprecate(transaction, id, resolved.sunsetAt);
      const data = { sunset_at: resolved.sunsetAt.toISOString() };
      await this.#record(transaction, context, key, [{ verb: 'deprecated', data }]);
      await this.needs.rotations.follow(transaction, context, key, {
        change: 'deprecated',
        before: key.state,
        by,
      });
      return reread(transaction, name);
    });

  /**
   * Revokes a key permanently, and ends its tokens. A revoked key is not changed. Emits `admin.agent.key.revoked`.
   * @param reason for the audit log
   * @returns the key, and the id of the receipt when it was not revoked before
   * @throws ServiceError `not_found`
   */
  revoke = (
    context: RequestContext,
    agentId: string,
    id: string,
    reason?: string,
    by: ChangedBy = 'hand',
  ): Promise<EndedKey> =>
    this.needs.database.transaction(context, async (transaction) => {
      // A token exchange locks the agent, and no key: it waits, and finds that the key's tokens have ended.
      await this.needs.agents.hold(transaction, context, agentId, 'change');
      const name = partOf(context, agentId, id);
      const key = await lock(transaction, name);
      if (key.state === 'revoked') return present(key);
      await store.revoke(transaction, id, reason ?? null);
      await this.needs.tokens.revokeTokensOfKey(transaction, key, 'key_revoked');
      const data = { reason: reason ?? null };
      const receiptId = await this.#record(transaction, context, key, [{ verb: 'revoked', data }]);
      const change = stateAt(key, key.readAt) === 'revoked' ? 'expired' : 'revoked';
      await this.needs.rotations.follow(transaction, context, key, { change, before: key.state, by });
      return { ...(await reread(transaction, name)), receiptId };
    });

  /** Returns whether the agent has this key. One indexed read. */
  exists = (context: RequestContext, agentId: string, id: string): Promise<boolean> =>
    store.exists(context.transaction ?? this.needs.database, context.tenant.id, id, agentId);

  /** Records a use of a key, at most once a minute, in a separate statement. */
  recordUse = (id: string): Promise<void> => store.recordUse(this.needs.database, id);

  #record = async (
    transaction: Transaction,
    context: RequestContext,
    key: Pick<AgentKey, 'id' | 'agentId' | 'fingerprint' | 'algorithm'>,
    changes: readonly { readonly verb: Verb; readonly data?: JsonObject }[],
  ): Promise<string | undefined> => {
    const facts = { agent_id: key.agentId, key_fingerprint: key.fingerprint, algorithm: key.algorithm };
    const entry = ({ verb, data }: { verb: Verb; data?: JsonObject }): AuditEntry => ({
      action: `agent.key.${verb}`,
      outcome: 'success',
      target: { type: 'key', id: key.id },
      keyId: key.id,
      data: { ...facts, ...data },
    });
    const emitted = await this.needs.records.write(transaction, context, {
      audit: changes.map(entry),
      events: changes.map(({ verb, data }) => ({
        type: `admin.agent.key.${verb}`,
        data: { ...facts, key_id: key.id, ...data },
      })),
    });
    return emitted[0]?.eventId;
  };

  #checkProof = async (context: RequestContext, agentId: string, key: PublicKey, proof: string) => {
    const payload = buildKeyProofPayload({
      tenantId: context.tenant.id,
      agentId,
      fingerprint: fingerprint(key.raw),
    });
    const { algorithm, raw: publicKey } = key;
    if (await this.needs.verifier.verifySignature({ algorithm, publicKey, payload, signature: proof }))
      return;
    throw invalidField(
      'body.proof',
      "is not this key's signature over the proof text of this tenant and agent",
    );
  };
}

async function lock(transaction: Transaction, name: AgentPart): Promise<StoredKey> {
  const key = await store.lock(transaction, name);
  if (key === undefined) throw unknownKey();
  return key;
}

async function reread(transaction: Transaction, name: AgentPart): Promise<AgentKey> {
  const key = await store.find(transaction, name);
  if (key === undefined) throw unknownKey();
  return present(key);
}

/** Computes the state at the time of the read: a key past its sunset is revoked. */
function present(key: StoredKey): AgentKey {
  return { ...key, state: stateAt(key, key.readAt) };
}

function unknownKey(): ServiceError {
  return new ServiceError('not_found', { detail: 'The agent has no key with this id.' });
}
