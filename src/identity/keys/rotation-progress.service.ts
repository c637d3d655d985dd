// What changes of keys make of their rotations, inside the transaction of the change, whoever made it. It must never change a key itself.

import type { AuditEntry } from '../../audit/audit.ts';
import type { RecordService } from '../../events/record.service.ts';
import type { RequestContext } from '../../platform/context.ts';
import type { Transaction } from '../../platform/database/transaction.ts';
import type { WorkflowCommandService } from '../../platform/temporal/workflow-command.service.ts';
import type { KeyState } from './key.ts';
import * as store from './rotation.store.ts';
import { afterKeyChange, type KeyChange, type KeyRotation } from './rotation.ts';

/** What is written down of a rotation; `ended` says how in its data. */
export type RotationVerb = 'started' | 'switched' | 'stalled' | 'canceled' | 'completed' | 'aborted';

/** The audit entry of something that happened to a rotation. */
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

/** Who changes a key: its own workflow knows of the change already. */
export type ChangedBy = 'hand' | 'workflow';

/** Follows keys. */
export function createRotationProgressService({
  records,
  commands,
}: {
  records: Pick<RecordService, 'write'>;
  commands: Pick<WorkflowCommandService, 'add'>;
}) {
  return {
    /**
     * Moves the open rotations of a key that has just changed, and tells the workflows concerned. The caller holds the key's lock.
     * @param before the key's state before the change
     */
    follow: async (
      transaction: Transaction,
      context: RequestContext,
      key: { readonly id: string; readonly tenantId: string },
      {
        change,
        before,
        by,
      }: { readonly change: KeyChange; readonly before: KeyState; readonly by: ChangedBy },
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
      await records.write(transaction, context, { audit: entries });
      // A deprecated key has a workflow that waits for its sunset, with or without a rotation.
      const own = change === 'deprecated' || before === 'deprecated' ? [key.id] : [];
      const concerned = new Set([...own, ...open.map(({ oldKeyId }) => oldKeyId)]);
      if (by === 'workflow') concerned.delete(key.id);
      await commands.add(
        transaction,
        [...concerned].map((entityId) => ({
          tenantId: key.tenantId,
          workflow: 'agentKeyRotation',
          entityId,
        })),
      );
    },
  };
}

export type RotationProgressService = ReturnType<typeof createRotationProgressService>;
