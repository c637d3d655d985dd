// tenantErasure waits until a tenant that has ended can come back no more, and then has it erased.
import { proxyActivities } from '@temporalio/workflow';
import type { TenantErasureActivities } from '../activities/tenant-erasure.ts';
import type { TenantEndName, TenantEndStanding } from '../src/operations/erasure/tenant-erasure.service.ts';
import type { EntityInput } from '../src/platform/temporal/names.ts';
import { ENTITY_ACTIVITIES, entityWorkflow } from './entity.ts';
import { wordHelp, wordTime } from './operator.ts';

/** The answer to the query `state`. `until` is when the workflow next reads the end without a signal. */
export type TenantErasureState = Pick<TenantEndStanding, 'status' | 'eraseAt' | 'removed'> & {
  readonly doing: 'reading' | 'waiting' | 'erasing' | 'ended';
  readonly until: string | null;
};

export type TenantErasureResult = Pick<TenantEndStanding, 'status'>;

const { readTenantEnd } = proxyActivities<TenantErasureActivities>(ENTITY_ACTIVITIES);

/** It removes all rows of a tenant: hours, where they are many. Repeated, it goes on. */
const { eraseTenant } = proxyActivities<TenantErasureActivities>({
  ...ENTITY_ACTIVITIES,
  startToCloseTimeout: '12h',
  heartbeatTimeout: '1m',
});

/**
 * Waits for the end of a tenant's grace, and erases it. Ends when the tenant is restored.
 * @param input.id id of the tenant
 */
export function tenantErasure(input: EntityInput): Promise<TenantErasureResult> {
  const name = { tenantId: input.id };
  return entityWorkflow<TenantEndName, TenantEndStanding, TenantErasureState, TenantErasureResult>(input, {
    name,
    read: { activity: readTenantEnd, summary: 'whether the tenant still ends' },
    steps: {
      erase: { doing: 'erasing', activity: eraseTenant, summary: 'all of the tenant is removed', once: true },
    },
    wait: ({ delayMs }, { eraseAt }) => ({
      doing: 'waiting',
      delayMs,
      summary: `until it is erased${eraseAt === null ? '' : ` ${wordTime(eraseAt)}`}, at most a day`,
    }),
    state: { status: 'ending', eraseAt: null, removed: 0 },
    help: wordHelp({}, 'tenant-erasure'),
    details: detailsOf,
    attributes: ({ status }) => ({ entityState: status }),
    result: ({ status }) => ({ status }),
  });
}

function detailsOf({ status, eraseAt, removed }: TenantEndStanding): string {
  if (status === 'ending') return `The tenant has ended. It can be restored until ${eraseAt}.`;
  if (status === 'erasing') return `The tenant is being erased: ${removed} rows and workflows are gone.`;
  return status === 'erased' ? 'Ended: everything of the tenant is gone.' : 'Ended: the tenant was restored.';
}
