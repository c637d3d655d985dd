// Performs the due steps of a tenant's issuer keys, and the requests of operators. Each step is decided from the rows
// in Postgres, so a repeated, late or needless request does no harm.
// docs/decisions/0018-issuer-keys.md

import { type OperatorRequest, operatorContext, serviceContext } from '../../audit/audit.ts';
import type { TenantService } from '../../identity/tenants/tenant.service.ts';
import type { Tenant } from '../../platform/context.ts';
import type { Database } from '../../platform/database/database.ts';
import { newId } from '../../platform/database/ids.ts';
import type { Queryable, Transaction } from '../../platform/database/transaction.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import { Service } from '../../platform/service.ts';
import type { IssuerKeyService } from './issuer-key.service.ts';
import { eventKeyStore, issuerKeyStore, listExpectedWorkflows } from './key-schedule.store.ts';
import {
  type DueStep,
  decideStep,
  describeState,
  nextKeyOf,
  type Schedule,
  type ScheduleState,
  type ScheduleStep,
  signingKeyOf,
  stateOf,
} from './key-schedule.ts';

type KeySteps = 'lock' | 'publishNext' | 'retire' | 'remove';

export type IssuerName = { readonly tenantId: string };

/** State of a tenant's keys; `gone` means that the tenant does not exist. Times are ISO 8601. */
export type IssuerStanding = {
  readonly step: ScheduleStep;
  readonly state: ScheduleState | 'gone';
  readonly signing: { readonly kid: string; readonly since: string } | null;
  readonly next: { readonly kid: string; readonly from: string } | null;
  /** Retired keys whose tokens are still valid: their number, and when the last one is removed. */
  readonly retired: { readonly count: number; readonly until: string } | null;
  readonly revoked: readonly string[];
};

export type IssuerRotationNeeds = {
  database: Pick<Database, 'transaction' | 'query'>;
  tenants: Pick<TenantService, 'byId'>;
  issuerKeys: Pick<IssuerKeyService, KeySteps | 'rotate' | 'revoke' | 'exists'>;
  eventKeys: Pick<IssuerKeyService, KeySteps | 'revoke'>;
};

export class IssuerRotationService extends Service<IssuerRotationNeeds> {
  /** Describes the keys for an operator by the tenant's slug. */
  describe = async ({ tenantId }: IssuerName): Promise<{ summary: string } | undefined> => {
    const tenant = await this.needs.tenants.byId(tenantId);
    return tenant && { summary: `issuer keys of ${tenant.slug}` };
  };

  /**
   * Performs a step if it is due, in one transaction. `publish` creates the next key. `retire` destroys the private
   * halves of keys that no longer sign, and emits `admin.issuer.key.rotated`. `remove` deletes keys whose tokens have
   * all expired.
   * @returns the state afterwards
   */
  perform = async (name: IssuerName, due: DueStep): Promise<IssuerStanding> => {
    const tenant = await this.needs.tenants.byId(name.tenantId);
    if (tenant === undefined) return GONE;
    return this.needs.database.transaction({}, async (transaction) => {
      for (const keys of [this.needs.issuerKeys, this.needs.eventKeys])
        await this.#performOf(keys, due, { tenant, transaction });
      return look(transaction, name);
    });
  };

  /** Rotates the keys for an operator, through the tenant's workflow. @throws ServiceError `not_found` (tenant) */
  rotateByOperator = async (name: IssuerName, { by, reason }: OperatorRequest): Promise<IssuerStanding> => {
    await this.needs.issuerKeys.rotate(await this.#contextOf(name, by), { reason, by: 'workflow' });
    return look(this.needs.database, name);
  };

  /** Revokes a key for an operator, through the tenant's workflow. @throws ServiceError `not_found` (tenant, key) */
  revokeByOperator = async (
    name: IssuerName,
    kid: string,
    { by, reason }: OperatorRequest & { readonly reason: string },
  ): Promise<IssuerStanding> => {
    const context = await this.#contextOf(name, by);
    const keys = (await this.needs.issuerKeys.exists(context, kid))
      ? this.needs.issuerKeys
      : this.needs.eventKeys;
    await keys.revoke(context, kid, { reason, by: 'workflow' });
    return look(this.needs.database, name);
  };

  /** Lists the tenants whose workflow should be running. */
  listExpectedWorkflows = listExpectedWorkflows;

  /** Reads the state of a tenant's keys and the next step in one round trip. Changes nothing. */
  look = (name: IssuerName): Promise<IssuerStanding> => look(this.needs.database, name);

  /** Performs a step of the keys of one purpose if it is due. */
  #performOf = async (
    keys: Pick<IssuerKeyService, KeySteps>,
    due: DueStep,
    { tenant, transaction }: { tenant: Tenant; transaction: Transaction },
  ): Promise<void> => {
    const schedule = await keys.lock(transaction, tenant);
    if (keys === this.needs.eventKeys && !hasKeys(schedule)) return;
    if (decideStep(schedule).kind !== due) return;
    const steps = { publish: keys.publishNext, retire: keys.retire, remove: keys.remove };
    await steps[due](transaction, { ...serviceContext(tenant, newId()), tenant }, schedule);
  };

  #contextOf = async ({ tenantId }: IssuerName, by: string | undefined) => {
    const tenant = await this.needs.tenants.byId(tenantId);
    if (tenant === undefined) throw new ServiceError('not_found', { detail: 'There is no such tenant.' });
    return operatorContext(tenant, newId(), { by });
  };
}

async function look(queryable: Queryable, { tenantId }: IssuerName): Promise<IssuerStanding> {
  const schedule = await issuerKeyStore.read(queryable, tenantId);
  if (schedule === undefined) return GONE;
  const events = await eventKeyStore.read(queryable, tenantId);
  const steps = [schedule, ...(events !== undefined && hasKeys(events) ? [events] : [])].map(decideStep);
  return standingOf(schedule, soonestOf(steps) ?? decideStep(schedule));
}

const GONE: IssuerStanding = {
  step: { kind: 'end' },
  state: 'gone',
  signing: null,
  next: null,
  retired: null,
  revoked: [],
};

/** A tenant has event keys since its first stream. Without issuer keys it gets some: it had them from its beginning. */
const hasKeys = ({ keys }: Schedule): boolean => keys.length > 0;

/** The step that is due, else the wait that ends first. */
function soonestOf(steps: readonly ScheduleStep[]): ScheduleStep | undefined {
  const delayOf = (step: ScheduleStep) => (step.kind === 'wait' ? step.delayMs : 0);
  return [...steps].sort((a, b) => delayOf(a) - delayOf(b))[0];
}

function standingOf(schedule: Schedule, step: ScheduleStep): IssuerStanding {
  const signing = signingKeyOf(schedule);
  const next = nextKeyOf(schedule);
  const inState = (state: string) => schedule.keys.filter((key) => stateOf(key, schedule) === state);
  const ends = inState('retired').flatMap(({ removeAt }) => (removeAt === null ? [] : [removeAt.getTime()]));
  return {
    step,
    state: describeState(schedule),
    signing: signing === undefined ? null : { kid: signing.kid, since: signing.activateAt.toISOString() },
    next: next === undefined ? null : { kid: next.kid, from: next.activateAt.toISOString() },
    retired:
      ends.length === 0 ? null : { count: ends.length, until: new Date(Math.max(...ends)).toISOString() },
    revoked: inState('revoked').map(({ kid }) => kid),
  };
}
