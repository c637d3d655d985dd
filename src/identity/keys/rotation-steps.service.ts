// Performs the due steps for an old key. A step is due at a time, or after the first use of the new key. Each step is
// decided from the rows in Postgres, so a repeated, late or needless request does no harm.

import { serviceContext } from '../../audit/audit.ts';
import type { RequestContext } from '../../platform/context.ts';
import type { Database } from '../../platform/database/database.ts';
import { newId } from '../../platform/database/ids.ts';
import type { Queryable, Transaction } from '../../platform/database/transaction.ts';
import { Service } from '../../platform/service.ts';
import type { RecordService } from '../../webhooks/intake/record.service.ts';
import type { AgentService } from '../agents/agent.service.ts';
import type { TenantService } from '../tenants/tenant.service.ts';
import type { KeyService } from './key.service.ts';
import * as keyStore from './key.store.ts';
import { type KeyState, stateAt } from './key.ts';
import type { KeyCase } from './rotation.store.ts';
import * as store from './rotation.store.ts';
import { decideStep, isOpen, type RotationState, type RotationStep, sunsetAfterSwitch } from './rotation.ts';
import { describeRotation } from './rotation-progress.service.ts';

export type DepartingKey = { readonly tenantId: string; readonly keyId: string };

/** `gone`: the key does not exist. `rotation` is the state of its latest rotation. Times are ISO 8601. */
export type KeyStanding = {
  readonly step: RotationStep;
  readonly key: KeyState | 'gone';
  readonly rotation: RotationState | null;
  readonly sunsetAt: string | null;
  /** Deadline for the agent's first use of the new key; null when no use is expected. */
  readonly deadlineAt: string | null;
  /** Whether that deadline has passed without a use. */
  readonly stalled: boolean;
};

export type DueStep = 'switch' | 'warn' | 'revoke';

export type RotationStepNeeds = {
  database: Pick<Database, 'transaction' | 'query'>;
  tenants: Pick<TenantService, 'byId'>;
  agents: Pick<AgentService, 'holdIfThere'>;
  keys: Pick<KeyService, 'deprecate' | 'revoke'>;
  records: Pick<RecordService, 'write'>;
};

/** Creates the steps of rotations and deprecations. */
export class RotationStepService extends Service<RotationStepNeeds> {
  /**
   * Performs a step if it is due, in one transaction. `switch` records the switch and sets the old key's sunset.
   * `warn` emits `admin.agent.key.rotation_stalled`. `revoke` revokes the old key at its sunset.
   * @returns the state of the key afterwards
   */
  perform = async (name: DepartingKey, due: DueStep): Promise<KeyStanding> => {
    const tenant = await this.needs.tenants.byId(name.tenantId);
    const first = await store.readCase(this.needs.database, name);
    if (tenant === undefined || first === null) return GONE;
    if (decideStep(first).kind !== due) return standingOf(first);
    return this.needs.database.transaction({}, async (transaction) => {
      const context = { ...serviceContext(tenant, newId()), tenant, transaction };
      if ((await this.needs.agents.holdIfThere(transaction, context, first.agentId)) === undefined)
        return GONE;
      const owner = { tenantId: name.tenantId, agentId: first.agentId };
      await keyStore.lock(transaction, { ...owner, id: name.keyId });
      const held = await store.readCase(transaction, name);
      // A second change of a rotation in one transaction makes Postgres check its foreign keys, which locks the new
      // key. A change of the new key locks the key before the rotation.
      if (held?.rotation) await keyStore.hold(transaction, { ...owner, id: held.rotation.newKeyId });
      await store.lockOpen(transaction, name.keyId);
      const found = await store.readCase(transaction, name);
      if (found !== null && decideStep(found).kind === due) await this.#run(context, name, due, found);
      return look(transaction, name);
    });
  };

  /** Lists the rotations whose workflow should be running. */
  listExpectedWorkflows = store.listExpectedWorkflows;

  /** Reads the state of a key and its next step in one round trip. Changes nothing. */
  look = (name: DepartingKey): Promise<KeyStanding> => look(this.needs.database, name);

  /** Describes a key for an operator: its algorithm, the beginning of its fingerprint, and its agent. */
  describe = ({ tenantId, keyId }: DepartingKey): Promise<{ summary: string; agentId: string } | undefined> =>
    store.describeKey(this.needs.database, tenantId, keyId);

  #noticeSwitch = async (
    context: RequestContext & { transaction: Transaction },
    { keyId }: DepartingKey,
    { agentId, key, rotation }: KeyCase,
  ): Promise<void> => {
    const firstUsedAt = rotation?.newKeyFirstUsedAt;
    if (rotation === null || !firstUsedAt) return;
    await store.markSwitched(context.transaction, rotation.id, firstUsedAt);
    await this.needs.records.write(context.transaction, context, {
      audit: [describeRotation('switched', rotation)],
    });
    // A deprecated key already has a sunset, which is kept.
    if (key.state === 'active') {
      const sunsetAt = (now: Date) => sunsetAfterSwitch(firstUsedAt, rotation.overlapSeconds, now);
      await this.needs.keys.deprecate(context, agentId, keyId, { sunsetAt }, 'workflow');
    }
  };

  #warn = async (
    context: RequestContext & { transaction: Transaction },
    { agentId, rotation }: KeyCase,
  ): Promise<void> => {
    if (rotation === null) return;
    await store.markStalled(context.transaction, rotation.id);
    await this.needs.records.write(context.transaction, context, {
      audit: [describeRotation('stalled', rotation)],
      events: [
        {
          type: 'admin.agent.key.rotation_stalled',
          data: {
            agent_id: agentId,
            rotation_id: rotation.id,
            old_key_id: rotation.oldKeyId,
            new_key_id: rotation.newKeyId,
            deadline_at: rotation.deadlineAt.toISOString(),
          },
        },
      ],
    });
  };

  #run = async (
    context: RequestContext & { transaction: Transaction },
    name: DepartingKey,
    due: DueStep,
    found: KeyCase,
  ): Promise<void> => {
    if (due === 'switch') await this.#noticeSwitch(context, name, found);
    else if (due === 'warn') await this.#warn(context, found);
    else await this.needs.keys.revoke(context, found.agentId, name.keyId, 'sunset', 'workflow');
  };
}

async function look(queryable: Queryable, name: DepartingKey): Promise<KeyStanding> {
  const found = await store.readCase(queryable, name);
  return found === null ? GONE : standingOf(found);
}

const GONE: KeyStanding = {
  step: { kind: 'end' },
  key: 'gone',
  rotation: null,
  sunsetAt: null,
  deadlineAt: null,
  stalled: false,
};

function standingOf(found: KeyCase): KeyStanding {
  const { key, rotation, now } = found;
  const waiting =
    rotation !== null && isOpen(rotation.state) && rotation.switchedAt === null ? rotation : null;
  return {
    step: decideStep(found),
    key: stateAt(key, now),
    rotation: rotation?.state ?? null,
    sunsetAt: key.sunsetAt?.toISOString() ?? null,
    deadlineAt: waiting?.deadlineAt.toISOString() ?? null,
    stalled: waiting !== null && waiting.stalledAt !== null,
  };
}
