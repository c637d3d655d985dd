// Begins, cancels and reads rotations of keys, for the tenant and for the agent. rotation-steps.service.ts does the
// later steps.

import { buildRotationProofPayload } from '../../../packages/agent/src/payloads.ts';
import { type OperatorRequest, operatorContext } from '../../audit/audit.ts';
import type { RequestContext } from '../../platform/context.ts';
import type { PublicKey } from '../../platform/crypto/public-key.ts';
import { fingerprint } from '../../platform/crypto/public-key.ts';
import type { SignatureVerifier } from '../../platform/crypto/verify-signature.node.ts';
import type { Database } from '../../platform/database/database.ts';
import { newId } from '../../platform/database/ids.ts';
import type { Page, PageRequest } from '../../platform/database/page.ts';
import type { Transaction } from '../../platform/database/transaction.ts';
import { invalidField, ServiceError } from '../../platform/errors/service-error.ts';
import { type Log, reasonOf } from '../../platform/logging.ts';
import { Service } from '../../platform/service.ts';
import type { WorkflowCommandService } from '../../platform/temporal/workflow-command.service.ts';
import type { RecordService } from '../../webhooks/intake/record.service.ts';
import type { AgentService } from '../agents/agent.service.ts';
import { partOf } from '../agents/agent.ts';
import type { TenantService } from '../tenants/tenant.service.ts';
import type { AgentKey, KeyService } from './key.service.ts';
import type { StoredKey } from './key.store.ts';
import * as keyStore from './key.store.ts';
import { mayDeprecate, stateAt } from './key.ts';
import { type PublicKeyInput, readPublicKey } from './key-input.ts';
import type { SwitchedKey } from './rotation.store.ts';
import * as store from './rotation.store.ts';
import { initialState, isOpen, type KeyRotation, ROTATION_DEFAULTS, type RotationState } from './rotation.ts';
import { type ChangedBy, describeRotation } from './rotation-progress.service.ts';
import type { RotationStepService } from './rotation-steps.service.ts';

export type { SwitchedKey } from './rotation.store.ts';
export type { KeyRotation } from './rotation.ts';

export type NewRotation = PublicKeyInput & {
  readonly label?: string | null | undefined;
  readonly overlapSeconds?: number | undefined;
  readonly deadlineSeconds?: number | undefined;
};

/** `proof` contains the base64 signatures of both keys over the text of `buildRotationProofPayload`. */
export type OwnRotation = NewRotation & {
  readonly oldKey: { readonly id: string } | { readonly fingerprint: string };
  readonly proof: { readonly oldKey: string; readonly newKey: string };
};

export type RotationNeeds = {
  database: Pick<Database, 'transaction' | 'query'>;
  tenants: Pick<TenantService, 'byId'>;
  agents: Pick<AgentService, 'get' | 'hold'>;
  keys: Pick<KeyService, 'add' | 'get'>;
  steps: Pick<RotationStepService, 'perform'>;
  verifier: Pick<SignatureVerifier, 'verifySignature'>;
  records: Pick<RecordService, 'write'>;
  commands: Pick<WorkflowCommandService, 'add'>;
  log: Log<'warn'>;
};

/** Source: Specification, "Key state". @param steps performs the steps that are due */
export class RotationService extends Service<RotationNeeds> {
  /**
   * Registers a new key and begins a rotation to it, both or neither. A deprecated old key keeps its sunset.
   * @throws ServiceError `not_found` (agent), `invalid_request` naming the field, `key_exists`, `insufficient_scope`
   * when the principal lacks one of the agent's scopes; `conflict` for a revoked old key, and for an old key with an
   * open rotation
   */
  begin = async (
    context: RequestContext,
    agentId: string,
    input: NewRotation & { readonly oldKeyId: string },
  ): Promise<KeyRotation> => {
    const newKey = readPublicKey(input);
    return this.#start(context, agentId, newKey, input, { isOwn: false });
  };

  /**
   * Begins a rotation for the agent itself. The agent proves that it holds both keys, which verifies the new key.
   * @throws ServiceError as `begin`, and `policy_denied` when the agent is suspended during the request
   */
  beginOwn = async (context: RequestContext, agentId: string, input: OwnRotation): Promise<KeyRotation> => {
    const newKey = readPublicKey(input);
    const owner = { tenantId: context.tenant.id, agentId };
    const path = 'id' in input.oldKey ? 'body.old_key_id' : 'body.old_key_fingerprint';
    const oldKeyId =
      'id' in input.oldKey
        ? input.oldKey.id
        : await store.findKeyByFingerprint(this.needs.database, owner, input.oldKey.fingerprint);
    const oldKey =
      oldKeyId === undefined
        ? undefined
        : await this.needs.keys.get(context, agentId, oldKeyId).catch(orNotFound);
    if (oldKey === undefined) throw invalidField(path, 'is no key of this agent');
    // Verified before any row is locked, because it can take time.
    await this.#checkProofs(context, agentId, { oldKey, newKey }, input.proof);
    return this.#start(context, agentId, newKey, { ...input, oldKeyId: oldKey.id }, { isOwn: true });
  };

  /** @throws ServiceError `not_found` for a rotation of another agent, or an agent of another tenant */
  get = async (context: RequestContext, agentId: string, id: string): Promise<KeyRotation> => {
    await this.needs.agents.get(context, agentId);
    return this.#read(context, agentId, id);
  };

  /** Returns a page, newest first. @throws ServiceError `not_found` */
  list = async (
    context: RequestContext,
    agentId: string,
    request: PageRequest & { readonly state?: RotationState | undefined },
  ): Promise<Page<KeyRotation>> => {
    await this.needs.agents.get(context, agentId);
    const database = context.transaction ?? this.needs.database;
    return store.list(database, request, context.tenant.id, agentId, request.state);
  };

  /**
   * Cancels a rotation that waits for the agent. Both keys keep their state. A canceled rotation is not changed.
   * @param reason for the audit log
   * @throws ServiceError `not_found`; `conflict` when the old key already has a sunset, or the rotation has ended in
   * another way
   */
  cancel = (
    context: RequestContext,
    agentId: string,
    id: string,
    reason?: string,
    by: ChangedBy = 'hand',
  ): Promise<KeyRotation> =>
    this.needs.database.transaction(context, async (transaction) => {
      const joined = { ...context, transaction };
      await this.needs.agents.hold(transaction, context, agentId);
      const { oldKeyId } = await this.#read(joined, agentId, id);
      await keyStore.lock(transaction, partOf(context, agentId, oldKeyId));
      await store.lockOpen(transaction, oldKeyId);
      const rotation = await this.#read(joined, agentId, id);
      if (rotation.state === 'canceled') return rotation;
      if (rotation.state !== 'waiting_for_switch') throw notCancelable(rotation);
      await store.move(transaction, id, { state: 'canceled', endReason: 'canceled' });
      await this.needs.records.write(transaction, context, {
        audit: [describeRotation('canceled', rotation, reason === undefined ? {} : { reason })],
      });
      const command = {
        tenantId: rotation.tenantId,
        workflow: 'agentKeyRotation',
        entityId: oldKeyId,
      } as const;
      await this.needs.commands.add(transaction, by === 'workflow' ? [] : [command]);
      return this.#read(joined, agentId, id);
    });

  /**
   * Cancels a key's rotation for an operator, who requested it through the old key's workflow.
   * @throws ServiceError `not_found` when the key has no rotation, `conflict` as `cancel`
   */
  cancelByOperator = async (
    { tenantId, keyId }: SwitchedKey,
    { by, reason }: OperatorRequest = {},
  ): Promise<KeyRotation> => {
    const tenant = await this.needs.tenants.byId(tenantId);
    const found = await store.readCase(this.needs.database, { tenantId, keyId });
    if (tenant === undefined || found === null || found.rotation === null)
      throw new ServiceError('not_found', { detail: 'The key has no rotation.' });
    return this.cancel(
      operatorContext(tenant, newId(), { by }),
      found.agentId,
      found.rotation.id,
      reason,
      'workflow',
    );
  };

  /**
   * Sets the sunset of old keys after a switch, in the background. If this fails, the rotation's workflow sets it.
   */
  noticeSwitches = (switched: readonly SwitchedKey[]): void => {
    const onError = (error: unknown) =>
      this.needs.log.warn(
        { event: 'rotation.switch_failed', reason: reasonOf(error) },
        'a key rotation waits for its workflow',
      );
    for (const key of switched) this.needs.steps.perform(key, 'switch').catch(onError);
  };

  /** Returns whether the agent has this rotation. One indexed read. */
  exists = (context: RequestContext, agentId: string, id: string): Promise<boolean> =>
    store.exists(context.transaction ?? this.needs.database, context.tenant.id, id, agentId);

  #read = async (context: RequestContext, agentId: string, id: string): Promise<KeyRotation> => {
    const database = context.transaction ?? this.needs.database;
    const rotation = await store.find(database, context.tenant.id, agentId, id);
    if (rotation === undefined)
      throw new ServiceError('not_found', { detail: 'The agent has no key rotation with this id.' });
    return rotation;
  };

  #start = (
    context: RequestContext,
    agentId: string,
    newKey: PublicKey,
    request: Omit<NewRotation, keyof PublicKeyInput> & { readonly oldKeyId: string },
    { isOwn }: { readonly isOwn: boolean },
  ): Promise<KeyRotation> =>
    this.needs.database.transaction(context, async (transaction) => {
      const joined = { ...context, transaction };
      const { id: owner, status } = await this.needs.agents.hold(transaction, context, agentId);
      // Suspension ends the agent's token, but a request with that token may still be running.
      if (isOwn && status === 'suspended')
        throw new ServiceError('policy_denied', { detail: 'The agent is suspended.' });
      const oldKey = await holdOldKey(transaction, context, owner, request.oldKeyId);
      const added = await this.needs.keys.add(joined, owner, newKey, {
        label: request.label ?? null,
        isVerified: isOwn,
      });
      const row = {
        id: newId(),
        tenantId: context.tenant.id,
        agentId: owner,
        oldKeyId: oldKey.id,
        newKeyId: added.id,
        state: initialState(oldKey.state),
        overlapSeconds: request.overlapSeconds ?? ROTATION_DEFAULTS.overlapSeconds,
        deadlineSeconds: request.deadlineSeconds ?? ROTATION_DEFAULTS.deadlineSeconds,
      };
      await store.insert(transaction, row);
      const data = { overlap_seconds: row.overlapSeconds, deadline_seconds: row.deadlineSeconds };
      await this.needs.records.write(transaction, context, {
        audit: [describeRotation('started', row, data)],
      });
      await this.needs.commands.add(transaction, [
        { tenantId: row.tenantId, workflow: 'agentKeyRotation', entityId: row.oldKeyId },
      ]);
      return this.#read(joined, owner, row.id);
    });

  #checkProofs = async (
    context: RequestContext,
    agentId: string,
    { oldKey, newKey }: { oldKey: AgentKey; newKey: PublicKey },
    proof: OwnRotation['proof'],
  ): Promise<void> => {
    const payload = buildRotationProofPayload({
      tenantId: context.tenant.id,
      agentId,
      oldFingerprint: oldKey.fingerprint,
      newFingerprint: fingerprint(newKey.raw),
    });
    const signatures = [
      ['body.proof.old_key', oldKey.algorithm, oldKey.publicKey, proof.oldKey],
      ['body.proof.new_key', newKey.algorithm, newKey.raw, proof.newKey],
    ] as const;
    for (const [path, algorithm, publicKey, signature] of signatures) {
      if (!(await this.needs.verifier.verifySignature({ algorithm, publicKey, payload, signature })))
        throw invalidField(path, "is not this key's signature over the rotation's text");
    }
  };
}

async function holdOldKey(
  transaction: Transaction,
  context: RequestContext,
  agentId: string,
  id: string,
): Promise<StoredKey> {
  const key = await keyStore.lock(transaction, partOf(context, agentId, id));
  if (key === undefined) throw invalidField('body.old_key_id', 'is no key of this agent');
  if (!mayDeprecate(stateAt(key, key.readAt)))
    throw new ServiceError('conflict', { detail: 'The old key is revoked, which is final.' });
  const [open] = (await store.lockOpen(transaction, id)).filter(
    ({ oldKeyId, state }) => oldKeyId === id || state === 'waiting_for_switch',
  );
  if (open !== undefined)
    throw new ServiceError('conflict', { detail: `The rotation ${open.id} of this key has not ended.` });
  return key;
}

function orNotFound(error: unknown): undefined {
  if (error instanceof ServiceError && error.code === 'not_found') return undefined;
  throw error;
}

function notCancelable({ state }: KeyRotation): ServiceError {
  return new ServiceError('conflict', {
    detail: isOpen(state)
      ? 'The old key has its sunset already; deprecate it again to move that.'
      : `The rotation has ended: ${state}.`,
  });
}
