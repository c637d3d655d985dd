// Updates the open rotations of a key when the key changes, in the transaction of that change.

import type { AuditEntry } from '../../audit/audit.ts';
import type { RequestContext } from '../../platform/context.ts';
import type { Transaction } from '../../platform/database/transaction.ts';
import { Service } from '../../platform/service.ts';
import type { WorkflowCommandService } from '../../platform/temporal/workflow-command.service.ts';
import type { RecordService } from '../../webhooks/intake/record.service.ts';
import type { KeyState } from './key.ts';
import * as store from './rotation.store.ts';
import { afterKeyChange, type KeyChange, type KeyRotation } from './rotation.ts';

export type RotationVerb = 'started' | 'switched' | 'stalled' | 'canceled' | 'completed' | 'aborted';

/** Builds the audit entry for a change of a rotation. */
export function describeRotation(
  verb: RotationVerb,
  rotation: Pick<KeyRotation, 'id' | 'oldKeyId' | 'newKeyId'>,
  data: Readonly<Record<string, unknown>> = {},
): AuditEntry {
  const { id, oldKeyId, newKeyId } = rotation;
  return {
    action: `agent.key.rotation.${verb}`,
    outcome: 'success',
    target: { type: 'key_rotation', id },
    keyId: oldKeyId,
    data: { old_key_id: oldKeyId, new_key_id: newKeyId, ...data },
  };
}

/** The source of a change. When it is the key's own workflow, that workflow gets no signal. */
export type ChangedBy = 'hand' | 'workflow';

export class RotationProgressService extends Service<{
  records: Pick<RecordService, 'write'>;
  commands: Pick<WorkflowCommandService, 'add'>;
}> {
  /**
   * Updates the open rotations of a key that has just changed, and enqueues signals to the affected workflows. The
   * caller has locked the key.
   * @param before the key's state before the change
   */
  follow = async (
    transaction: Transaction,
    context: RequestContext,
    key: { readonly id: string; readonly tenantId: string },
    { change, before, by }: { readonly change: KeyChange; readonly before: KeyState; readonly by: ChangedBy },
  ): Promise<void> => {
    const open = await store.lockOpen(transaction, key.id);
    const entries: AuditEntry[] = [];
    for (const rotation of open) {
      const next = afterKeyChange(rotation.state, rotation.oldKeyId === key.id ? 'old' : 'new', change);
      if (next === null) continue;
      await store.move(transaction, rotation.id, next);
      if ('endReason' in next)
        entries.push(describeRotation(next.state, rotation, { reason: next.endReason }));
    }
    await this.needs.records.write(transaction, context, { audit: entries });
    // A deprecated key has a workflow that waits for the sunset, with or without a rotation.
    const own = change === 'deprecated' || before === 'deprecated' ? [key.id] : [];
    const concerned = new Set([...own, ...open.map(({ oldKeyId }) => oldKeyId)]);
    if (by === 'workflow') concerned.delete(key.id);
    await this.needs.commands.add(
      transaction,
      [...concerned].map((entityId) => ({
        tenantId: key.tenantId,
        workflow: 'agentKeyRotation',
        entityId,
      })),
    );
  };
}
