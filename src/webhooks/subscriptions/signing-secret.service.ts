// Rotates signing secrets. After the overlap each attempt is signed with the new secret alone, even before the row is
// updated. Only a secret that was just generated is returned.

import { timingSafeEqual } from 'node:crypto';
import { type AuditContext, serviceContext } from '../../audit/audit.ts';
import type { RequestContext } from '../../platform/context.ts';
import { hashSecret, newSigningSecret } from '../../platform/crypto/opaque-secret.node.ts';
import type { Database } from '../../platform/database/database.ts';
import { newId } from '../../platform/database/ids.ts';
import type { Queryable, Transaction } from '../../platform/database/transaction.ts';
import { invalidField, ServiceError } from '../../platform/errors/service-error.ts';
import { Service } from '../../platform/service.ts';
import type { WorkflowCommandService } from '../../platform/temporal/workflow-command.service.ts';
import type { RecordService } from '../intake/record.service.ts';
import type { SecretRow } from './signing-secret.store.ts';
import * as store from './signing-secret.store.ts';
import { decideSecretStep, isOverlapping, OVERLAP, type SecretStep } from './signing-secret.ts';
import { checkSecret } from './subscription.ts';
import { recordChange } from './subscription-change.service.ts';
import { unknownSubscription } from './subscription-reading.service.ts';
import type { SubscriptionSealing } from './subscription-sealing.service.ts';

export type SecretName = { readonly tenantId: string; readonly subscriptionId: string };

/**
 * The state of the secrets and the next step. `gone`: the subscription is deleted. `overlapEndsAt` is ISO 8601; null
 * without a rotation.
 */
export type SecretStanding = {
  readonly step: SecretStep;
  readonly secrets: 'one' | 'overlapping' | 'gone';
  readonly overlapEndsAt: string | null;
};

export type SigningSecretNeeds = {
  database: Pick<Database, 'transaction' | 'query'>;
  sealing: Pick<SubscriptionSealing, 'sealSecret' | 'openSecret'>;
  records: Pick<RecordService, 'write'>;
  commands: Pick<WorkflowCommandService, 'add'>;
};

/** Source: Specification, "Webhook subscription" (secret), "Signature". */
export class SigningSecretService extends Service<SigningSecretNeeds> {
  /**
   * Replaces the signing secret. During the overlap the main signature is made with the old secret and the `-Next`
   * signature with the new one; then the new secret takes over. An overlap of 0 is for a leaked secret: the new
   * secret takes over immediately and ends a rotation under way. Emits `webhook.endpoint.secret_rotation_started`, or
   * `secret_rotated`.
   * @param options.secret the caller's secret; without it a secret is generated
   * @returns the secret if it was generated, and the time at which it takes over
   * @throws ServiceError `not_found`, `invalid_request`, `conflict` while another rotation overlaps
   */
  rotate = (
    context: RequestContext,
    subscriptionId: string,
    { overlapSeconds = OVERLAP.usual, secret }: { overlapSeconds?: number; secret?: string | undefined },
  ): Promise<{ secret: string | undefined; overlapEndsAt: Date }> => {
    if (secret !== undefined) checkSecret(secret);
    const generated = secret === undefined ? newSigningSecret() : undefined;
    const name = { tenantId: context.tenant.id, subscriptionId };
    return this.needs.database.transaction(context, async (transaction) => {
      const found = await store.lock(transaction, name.tenantId, name.subscriptionId);
      if (found === undefined) throw unknownSubscription();
      const row = await this.#finish(transaction, context, subscriptionId, found);
      if (
        secret !== undefined &&
        isSame(secret, this.needs.sealing.openSecret(subscriptionId, row.secretSealed))
      )
        throw invalidField('body.secret', 'is the present secret');
      const sealed = this.needs.sealing.sealSecret(subscriptionId, generated ?? secret ?? '');
      const overlapEndsAt =
        overlapSeconds === 0
          ? await this.#replaceNow(transaction, context, name, { row, sealed })
          : await this.#begin(transaction, context, name, { row, sealed, overlapSeconds });
      if (overlapSeconds > 0 || found.nextSecretSealed !== null)
        await this.needs.commands.add(transaction, [
          { tenantId: name.tenantId, workflow: 'webhookSecretRotation', entityId: subscriptionId },
        ]);
      return { secret: generated, overlapEndsAt };
    });
  };

  /** Reads the summary for operators: the receiver's host, without a path. */
  describe = async (
    name: SecretName,
  ): Promise<{ summary: string; subscriptionId: string; host: string } | undefined> => {
    const row = await store.find(this.needs.database, name.tenantId, name.subscriptionId);
    return row && { summary: row.host, subscriptionId: name.subscriptionId, host: row.host };
  };

  /** Ends an overlap whose time has come. Emits `webhook.endpoint.secret_rotated`. @returns the state afterwards */
  finish = (name: SecretName): Promise<SecretStanding> =>
    this.needs.database.transaction({}, async (transaction) => {
      const row = await store.lock(transaction, name.tenantId, name.subscriptionId);
      if (row === undefined) return GONE;
      const context = serviceContext({ id: name.tenantId }, newId());
      await this.#finish(transaction, context, name.subscriptionId, row);
      return read(transaction, name);
    });

  /** Lists the subscriptions whose workflow should be running. */
  listExpectedWorkflows = store.listExpectedWorkflows;

  /** Reads the state of a subscription's secrets and the next step. One round trip. */
  read = (name: SecretName): Promise<SecretStanding> => read(this.needs.database, name);

  /** Makes the next secret the current one if the overlap has ended. @returns the row afterwards */
  #finish = async (
    unit: Transaction,
    context: AuditContext,
    subscriptionId: string,
    row: SecretRow,
  ): Promise<SecretRow> => {
    const { nextSecretSealed, overlapEndsAt } = row;
    if (nextSecretSealed === null || overlapEndsAt === null || isOverlapping(row)) return row;
    await store.takeOver(unit, subscriptionId);
    await recordChange(this.needs, unit, context, 'secret_rotated', row, { reason: 'overlap_ended' });
    return { ...row, secretSealed: nextSecretSealed, nextSecretSealed: null, overlapEndsAt: null };
  };

  #replaceNow = async (
    transaction: Transaction,
    context: RequestContext,
    { subscriptionId }: SecretName,
    { row, sealed }: { row: SecretRow; sealed: Buffer },
  ): Promise<Date> => {
    const at = await store.replace(transaction, subscriptionId, sealed);
    await recordChange(this.needs, transaction, context, 'secret_rotated', row, {
      reason: 'replaced_at_once',
    });
    return at;
  };

  #begin = async (
    transaction: Transaction,
    context: RequestContext,
    { subscriptionId }: SecretName,
    { row, sealed, overlapSeconds }: { row: SecretRow; sealed: Buffer; overlapSeconds: number },
  ): Promise<Date> => {
    if (isOverlapping(row))
      throw new ServiceError('conflict', {
        detail: `A rotation of this secret is under way until ${row.overlapEndsAt?.toISOString()}. With overlap_seconds 0 a new secret replaces both now.`,
      });
    const at = await store.begin(transaction, subscriptionId, sealed, overlapSeconds);
    const facts = { overlap_ends_at: at.toISOString() };
    await recordChange(this.needs, transaction, context, 'secret_rotation_started', row, facts);
    return at;
  };
}

async function read(queryable: Queryable, name: SecretName): Promise<SecretStanding> {
  const row = await store.find(queryable, name.tenantId, name.subscriptionId);
  if (row === undefined) return GONE;
  return {
    step: decideSecretStep(row),
    secrets: isOverlapping(row) ? 'overlapping' : 'one',
    overlapEndsAt: row.overlapEndsAt?.toISOString() ?? null,
  };
}

const GONE: SecretStanding = { step: { kind: 'end' }, secrets: 'gone', overlapEndsAt: null };

function isSame(one: string, other: string): boolean {
  return timingSafeEqual(hashSecret(one), hashSecret(other));
}
