// Writes the audit entries and events of changed anchors, and enqueues signals to their workflows, in the transaction
// of the change.

import { type AuditContext, succeeded } from '../../audit/audit.ts';
import type { Transaction } from '../../platform/database/transaction.ts';
import { Service } from '../../platform/service.ts';
import type { WorkflowCommandService } from '../../platform/temporal/workflow-command.service.ts';
import type { RecordService } from '../../webhooks/intake/record.service.ts';
import type { Anchor } from './anchor.ts';

type Told = Pick<Anchor, 'id' | 'agentId' | 'type' | 'value'>;
type Facts = Readonly<Record<string, string | number | null>>;

/** Changes that are also emitted as events. All changes are audit entries. */
const EMITTED: ReadonlySet<string> = new Set(['verified', 'failed', 'revoked', 'missing']);

export type AnchorChange = 'created' | 'check_requested' | 'verified' | 'failed' | 'revoked' | 'missing';

export type AnchorProgressNeeds = {
  records: Pick<RecordService, 'write'>;
  commands: Pick<WorkflowCommandService, 'add'>;
};

export class AnchorProgressService extends Service<AnchorProgressNeeds> {
  /**
   * Writes the audit entry `agent.anchor.<change>`. For the changes in `EMITTED` it also emits the event
   * `admin.agent.anchor.<change>`.
   * @param facts further fields of the record
   */
  tell = async (
    unit: Transaction,
    context: AuditContext,
    change: AnchorChange,
    { id, agentId, type, value }: Told,
    facts: Facts = {},
  ): Promise<void> => {
    const data = { agent_id: agentId, type, value, ...facts };
    const event = { type: `admin.agent.anchor.${change}`, data: { anchor_id: id, ...data } };
    await this.needs.records.write(unit, context, {
      audit: [succeeded(`agent.anchor.${change}`, { type: 'anchor', id }, data)],
      events: EMITTED.has(change) ? [event] : [],
    });
  };

  /** Enqueues a signal to the anchor's workflow. The workflow is started if it is not running. */
  wake = (unit: Transaction, { tenantId, id }: { tenantId: string; id: string }): Promise<void> =>
    this.needs.commands.add(unit, [{ tenantId, workflow: 'anchorVerification', entityId: id }]);
}
