// How changes of anchors are told: in the audit log, as events, and to their workflows, in the transaction of the change.

import type { AuditContext } from '../../audit/audit.ts';
import type { RecordService } from '../../events/record.service.ts';
import type { Transaction } from '../../platform/database/transaction.ts';
import type { WorkflowCommandService } from '../../platform/temporal/workflow-command.service.ts';
import type { Anchor } from './anchor.ts';

type Told = Pick<Anchor, 'id' | 'agentId' | 'type' | 'value'>;
type Facts = Readonly<Record<string, string | number | null>>;

/** Those that are told to subscribers as well. */
const EMITTED: ReadonlySet<string> = new Set(['verified', 'failed', 'revoked', 'missing']);

export type AnchorChange = 'created' | 'check_requested' | 'verified' | 'failed' | 'revoked' | 'missing';

/** The changes of anchors as others see them. */
export function createAnchorProgressService({
  records,
  commands,
}: {
  records: Pick<RecordService, 'write'>;
  commands: Pick<WorkflowCommandService, 'add'>;
}) {
  return {
    /**
     * Tells of a change: `agent.anchor.<change>` in the audit log, and `admin.agent.anchor.<change>` for those that are events.
     * @param facts what else there is to say
     */
    tell: async (
      unit: Transaction,
      context: AuditContext,
      change: AnchorChange,
      { id, agentId, type, value }: Told,
      facts: Facts = {},
    ): Promise<void> => {
      const data = { agent_id: agentId, type, value, ...facts };
      const event = { type: `admin.agent.anchor.${change}`, data: { anchor_id: id, ...data } };
      await records.write(unit, context, {
        audit: [
          { action: `agent.anchor.${change}`, outcome: 'success', target: { type: 'anchor', id }, data },
        ],
        events: EMITTED.has(change) ? [event] : [],
      });
    },

    /** Has the anchor's workflow look at it once the transaction commits; starts it where none runs. */
    wake: (unit: Transaction, { tenantId, id }: { tenantId: string; id: string }): Promise<void> =>
      commands.add(unit, [{ tenantId, workflow: 'anchorVerification', entityId: id }]),
  };
}

export type AnchorProgressService = ReturnType<typeof createAnchorProgressService>;
