// Checks the proofs of anchors and records the outcomes. Each step is decided from the row in Postgres, so a repeated,
// late or needless request does no harm. No transaction is open during a check.

import {
  type AuditContext,
  type OperatorRequest,
  operatorContext,
  serviceContext,
} from '../../audit/audit.ts';
import type { Database } from '../../platform/database/database.ts';
import { newId } from '../../platform/database/ids.ts';
import type { Transaction } from '../../platform/database/transaction.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import { Service } from '../../platform/service.ts';
import type { AgentService } from '../agents/agent.service.ts';
import type { TenantService } from '../tenants/tenant.service.ts';
import type { AnchorStatus } from './anchor.ts';
import type { AnchorCase, CheckedAnchor } from './anchor-check.store.ts';
import * as store from './anchor-check.store.ts';
import {
  type AnchorStep,
  decideAnchorStep,
  errorOf,
  FOUND,
  judgeLook,
  type LookEffect,
  revocationTime,
} from './anchor-check.ts';
import type { AnchorProgressService } from './anchor-progress.service.ts';
import * as turns from './anchor-turn.store.ts';
import type { ProofLooker } from './proof.client.ts';

export type { CheckedAnchor } from './anchor-check.store.ts';

/** `gone`: the agent is deleted. Times are ISO 8601. `lastOutcome` is `found` or a code such as `http:404`. */
export type AnchorStanding = {
  readonly step: AnchorStep;
  readonly status: AnchorStatus | 'gone';
  readonly lastOutcome: string | null;
  readonly lastCheckedAt: string | null;
  readonly lastFoundAt: string | null;
  readonly missingSince: string | null;
  readonly expiresAt: string | null;
};

type Context = AuditContext & { readonly transaction: Transaction };

export type AnchorCheckNeeds = {
  database: Pick<Database, 'transaction' | 'query'>;
  tenants: Pick<TenantService, 'byId'>;
  agents: Pick<AgentService, 'holdIfThere'>;
  progress: AnchorProgressService;
  /** Checks whether a proof is published. */
  looker: ProofLooker;
};

/** Creates the steps of anchors. */
export class AnchorCheckService extends Service<AnchorCheckNeeds> {
  /** Reads the state of an anchor and its next step in one round trip. Changes nothing. */
  look = async (name: CheckedAnchor): Promise<AnchorStanding> =>
    standingOf(await store.read(this.needs.database, name));

  /** Describes an anchor for an operator: its domain, type and agent. */
  describe = async (
    name: CheckedAnchor,
  ): Promise<{ summary: string; agentId: string; host: string } | undefined> => {
    const found = await store.read(this.needs.database, name);
    return found && { summary: `${found.value} · ${found.type}`, agentId: found.agentId, host: found.value };
  };

  /**
   * Checks the proof if the check is due, and records the outcome. The check is postponed without a record in three
   * cases: an operator holds the host; the tenant is suspended; the tenant's last check of the same domain was less
   * than five seconds ago. Of concurrent checks, the first to finish is recorded. Emits
   * `admin.agent.anchor.verified`, `missing` or `revoked`.
   * @returns the state of the anchor afterwards
   */
  check = async (name: CheckedAnchor): Promise<AnchorStanding> => {
    const before = await store.read(this.needs.database, name);
    if (before === undefined || decideAnchorStep(before).kind !== 'look') return standingOf(before);
    if (!(await this.needs.database.transaction({}, (transaction) => turns.take(transaction, name))))
      return this.look(name);
    const outcome = await this.needs.looker.look(before);
    return this.#change(name, async (context, found) => {
      if (found.checks !== before.checks) return;
      const effect = judgeLook({ ...found, beganAt: before.now }, outcome === FOUND, Math.random());
      if (effect !== null) await this.#record(context, found, outcome, effect);
    });
  };

  /** Marks an overdue pending anchor as failed. Emits `admin.agent.anchor.failed`. @returns the state afterwards */
  fail = (name: CheckedAnchor): Promise<AnchorStanding> =>
    this.#change(name, async (context, found) => {
      if (decideAnchorStep(found).kind !== 'fail') return;
      await store.fail(context.transaction, found.id);
      await this.needs.progress.tell(context.transaction, context, 'failed', found, {
        last_error: errorOf(found),
      });
    });

  /**
   * Makes a check due now because an operator requested it, and writes an audit entry.
   * @throws ServiceError `not_found`; `conflict` when the anchor has ended
   */
  requestByOperator = async (name: CheckedAnchor, { by, reason }: OperatorRequest = {}): Promise<void> => {
    const tenant = await this.needs.tenants.byId(name.tenantId);
    const found = await store.read(this.needs.database, name);
    if (tenant === undefined || found === undefined)
      throw new ServiceError('not_found', { detail: 'There is no such anchor.' });
    await this.needs.database.transaction({}, async (transaction) => {
      if (!(await store.request(transaction, name.tenantId, name.id, 0, undefined)))
        throw new ServiceError('conflict', { detail: 'The anchor has ended.' });
      const context = operatorContext(tenant, newId(), { by });
      await this.needs.progress.tell(
        transaction,
        context,
        'check_requested',
        found,
        reason === undefined ? {} : { reason },
      );
    });
  };

  /** Lists the anchors whose workflow should be running. */
  listExpectedWorkflows = store.listExpectedWorkflows;

  /** Locks the anchor and calls `work` with its current row. Does not call it when the anchor's agent is deleted. */
  #change = async (
    name: CheckedAnchor,
    work: (context: Context, found: AnchorCase) => Promise<void>,
  ): Promise<AnchorStanding> => {
    const tenant = await this.needs.tenants.byId(name.tenantId);
    const known = await store.read(this.needs.database, name);
    if (tenant === undefined || known === undefined) return GONE;
    return this.needs.database.transaction({}, async (transaction) => {
      const context = { ...serviceContext(tenant, newId()), tenant, transaction };
      if ((await this.needs.agents.holdIfThere(transaction, context, known.agentId)) === undefined)
        return GONE;
      await store.lock(transaction, name.tenantId, name.id);
      const found = await store.read(transaction, name);
      if (found !== undefined) await work(context, found);
      return standingOf(await store.read(transaction, name));
    });
  };

  #record = async (
    context: Context,
    found: AnchorCase,
    outcome: string,
    effect: LookEffect,
  ): Promise<void> => {
    const { transaction } = context;
    const { status, misses, missingSince, delayMs } = effect;
    await store.record(transaction, found.id, outcome, status, misses, missingSince, delayMs);
    if (effect.change === 'verified') await this.needs.progress.tell(transaction, context, 'verified', found);
    if (effect.missingSince === null || effect.change === null) return;
    const facts = { missing_since: effect.missingSince.toISOString(), last_error: outcome };
    if (effect.change === 'missing') {
      const at = revocationTime(effect.missingSince).toISOString();
      await this.needs.progress.tell(transaction, context, 'missing', found, { ...facts, revokes_at: at });
    } else
      await this.needs.progress.tell(transaction, context, 'revoked', found, {
        was: found.status,
        reason: 'proof_missing',
        ...facts,
      });
  };
}

const GONE: AnchorStanding = {
  step: { kind: 'end' },
  status: 'gone',
  lastOutcome: null,
  lastCheckedAt: null,
  lastFoundAt: null,
  missingSince: null,
  expiresAt: null,
};

function standingOf(found: AnchorCase | undefined): AnchorStanding {
  if (found === undefined) return GONE;
  return {
    step: decideAnchorStep(found),
    status: found.status,
    lastOutcome: found.lastOutcome,
    lastCheckedAt: found.lastCheckedAt?.toISOString() ?? null,
    lastFoundAt: found.lastFoundAt?.toISOString() ?? null,
    missingSince: found.missingSince?.toISOString() ?? null,
    expiresAt: found.status === 'pending' ? found.expiresAt.toISOString() : null,
  };
}
