// Creates, rotates and revokes a tenant's issuer keys. Each change is decided in a transaction that locks the tenant's
// row, and needs no workflow.

import { type AuditContext, type AuditEntry, succeeded } from '../../audit/audit.ts';
import type { RequestContext, SigningAlgorithm, Tenant } from '../../platform/context.ts';
import { type MasterKey, sealSecret } from '../../platform/crypto/secret-box.node.ts';
import type { Database } from '../../platform/database/database.ts';
import { newId } from '../../platform/database/ids.ts';
import type { Queryable, Transaction } from '../../platform/database/transaction.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import { Service } from '../../platform/service.ts';
import type { WorkflowCommandService } from '../../platform/temporal/workflow-command.service.ts';
import type { RecordService } from '../../webhooks/intake/record.service.ts';
import type { RevocationService } from '../tokens/revocation.service.ts';
import type { IssuerService } from './issuer.service.ts';
import { deliveryContext, type IssuerAlgorithm, sealingContext } from './issuer-key.ts';
import { generateIssuerKey } from './jws-signing.service.ts';
import { type DeliveryKey, issuerKeyStore, lock as lockKeys, setDeliveryKey } from './key-schedule.store.ts';
import {
  after,
  arrange,
  keysToRemove,
  keysToRetire,
  PUBLISHED_AFTER_SECONDS,
  planActivation,
  planAlgorithm,
  planRevocation,
  planRotation,
  type Schedule,
  type ScheduledKey,
  type Succession,
  signingKeyOf,
} from './key-schedule.ts';

export { ISSUER_KEY_STATES, type IssuerKeyState } from './key-schedule.ts';

type TenantId = Pick<Tenant, 'id'>;

/** The context of a change. Its transaction also contains the audit entries and events. */
type Changing = AuditContext & { readonly tenant: TenantId };

type Cause = 'schedule' | 'rotation' | 'algorithm' | 'revocation';

/** `workflow`: the tenant's own workflow made the request, so it gets no signal. */
export type AskedBy = 'request' | 'workflow';

export type IssuerKeyNeeds = {
  database: Pick<Database, 'transaction' | 'query'>;
  /** Of the keys: by default those of access tokens. */
  store?: typeof issuerKeyStore | undefined;
  masterKeys: readonly MasterKey[];
  issuer: Pick<IssuerService, 'forget'>;
  revocations: Pick<RevocationService, 'endPrincipal'>;
  records: Pick<RecordService, 'write'>;
  commands: Pick<WorkflowCommandService, 'add'>;
  /** Seconds for which a key signs. */
  lifetime: number;
};

/** Manages the issuer keys of tenants. Source: Specification, "Agent access token claims"; RFC 7517. */
export class IssuerKeyService extends Service<IssuerKeyNeeds> {
  readonly #store = this.needs.store ?? issuerKeyStore;

  /** Creates a tenant's first key, which signs immediately. The caller starts the workflow of the tenant's keys. */
  createFirstKey = async (
    unit: Transaction,
    context: Changing,
    algorithm: SigningAlgorithm,
  ): Promise<void> => {
    const { now } = await this.#read(unit, context.tenant);
    await this.#publish(unit, context, { now, algorithm, activateAt: now }, 'schedule');
    await this.#tell(unit, context.tenant);
  };

  /** Creates a key that signs immediately, unless the tenant has one. */
  ensureKey = async (unit: Transaction, context: Changing): Promise<void> => {
    if (signingKeyOf(await this.#read(unit, context.tenant)) !== undefined) return;
    const schedule = await this.lock(unit, context.tenant);
    const { now, algorithm } = schedule;
    if (signingKeyOf(schedule) !== undefined) return;
    await this.#publish(unit, context, { now, algorithm, activateAt: now }, 'schedule');
    await this.#settle(unit, context.tenant);
    await this.#tell(unit, context.tenant);
  };

  /**
   * Changes the tenant's algorithm by publishing a new key. The new key signs after `PUBLISHED_AHEAD_SECONDS`, so
   * that each verifier can read it first. A request for the current algorithm changes nothing.
   */
  changeAlgorithm = async (
    unit: Transaction,
    context: Changing,
    algorithm: SigningAlgorithm,
  ): Promise<void> => {
    const { tenant } = context;
    const schedule = await this.lock(unit, tenant);
    const { drop, publishAt } = planAlgorithm(schedule, algorithm);
    if (drop.length > 0) await this.#store.remove(unit, tenant.id, drop);
    await this.needs.records.write(unit, context, {
      audit: drop.map((kid) => entry('removed', kid, { cause: 'algorithm' })),
    });
    if (publishAt !== null)
      await this.#publish(
        unit,
        context,
        { now: schedule.now, algorithm, activateAt: publishAt },
        'algorithm',
      );
    await this.#settle(unit, tenant);
    await this.#tell(unit, tenant);
  };

  /**
   * Makes the next key sign as soon as every verifier can have read it: immediately if it was published at least ten
   * minutes ago. A second call within ten minutes of a rotation changes nothing.
   * @returns the schedule afterwards
   */
  rotate = (
    context: RequestContext,
    { reason, by = 'request' }: { reason?: string | undefined; by?: AskedBy | undefined } = {},
  ): Promise<Schedule> =>
    this.needs.database.transaction(context, async (transaction: Transaction) => {
      const schedule = await this.lock(transaction, context.tenant);
      const succession = planRotation(schedule);
      if (succession === null) return schedule;
      const kid = await this.#succeed(transaction, context, schedule, succession, 'rotation');
      const data = {
        reason: reason ?? null,
        previous_kid: signingKeyOf(schedule)?.kid ?? null,
        activate_at: succession.activateAt.toISOString(),
      };
      await this.needs.records.write(transaction, context, { audit: [entry('rotated', kid, data)] });
      if (by === 'request') await this.#tell(transaction, context.tenant);
      return this.#settle(transaction, context.tenant);
    });

  /**
   * Revokes a key. After the commit, this process no longer publishes it or signs with it; other processes follow
   * within a second. Tokens that it signed are refused. If it is the signing key, the next key or a new key signs
   * from then on. A repeated call changes nothing.
   * @returns the schedule afterwards
   * @throws ServiceError `not_found`
   */
  revoke = (
    context: RequestContext,
    kid: string,
    { reason, by = 'request' }: { reason: string; by?: AskedBy | undefined },
  ): Promise<Schedule> =>
    this.needs.database.transaction(context, async (transaction: Transaction) => {
      const schedule = await this.lock(transaction, context.tenant);
      const key = schedule.keys.find((candidate) => candidate.kid === kid);
      if (key === undefined) throw new ServiceError('not_found');
      if (key.revokedAt !== null) return schedule;
      await this.#revokeKey(transaction, context, { schedule, key, reason });
      if (by === 'request') await this.#tell(transaction, context.tenant);
      return this.#settle(transaction, context.tenant);
    });

  /** Locks the tenant's keys against changes until the transaction ends. @returns their schedule */
  lock = async (unit: Transaction, tenant: TenantId): Promise<Schedule> => {
    await lockKeys(unit, tenant.id);
    return this.#read(unit, tenant);
  };

  /** Publishes the next key. The caller passes the locked schedule. */
  publishNext = async (unit: Transaction, context: Changing, schedule: Schedule): Promise<void> => {
    const { now, algorithm } = schedule;
    const activateAt = planActivation(schedule, this.needs.lifetime);
    await this.#publish(unit, context, { now, algorithm, activateAt }, 'schedule');
    await this.#settle(unit, context.tenant);
  };

  /** Destroys the private halves of keys that no longer sign. The caller passes the locked schedule. */
  retire = async (unit: Transaction, context: Changing, schedule: Schedule): Promise<void> => {
    const retired = keysToRetire(schedule);
    const signing = signingKeyOf(schedule);
    if (signing === undefined || retired.length === 0) return;
    await this.#store.destroyPrivate(
      unit,
      context.tenant.id,
      retired.map(({ kid }) => kid),
    );
    const { kid, algorithm, activateAt } = signing;
    await this.needs.records.write(unit, context, {
      audit: retired.map((previous) => entry('retired', previous.kid, { signing_kid: kid })),
      events: retired.map((previous) => ({
        type: 'admin.issuer.key.rotated',
        data: {
          kid,
          algorithm,
          activated_at: activateAt.toISOString(),
          previous_kid: previous.kid,
          previous_removed_at: previous.removeAt?.toISOString() ?? null,
        },
      })),
    });
    unit.afterCommit(() => this.needs.issuer.forget(context.tenant.id));
  };

  /** Deletes the keys whose tokens have all expired. The caller passes the locked schedule. */
  remove = async (unit: Transaction, context: Changing, schedule: Schedule): Promise<void> => {
    const kids = keysToRemove(schedule).map(({ kid }) => kid);
    await this.#store.remove(unit, context.tenant.id, kids);
    await this.needs.records.write(unit, context, {
      audit: kids.map((kid) => entry('removed', kid, { cause: 'schedule' })),
    });
    unit.afterCommit(() => this.needs.issuer.forget(context.tenant.id));
  };

  /** Reads the tenant's keys in one round trip. @throws ServiceError `not_found` (tenant) */
  read = ({ tenant, transaction }: Pick<RequestContext, 'transaction'> & { tenant: TenantId }) =>
    this.#read(transaction ?? this.needs.database, tenant);

  /** Returns when the next key begins to sign: the time in its row, or else the planned time. */
  nextRotation = (schedule: Schedule): Date =>
    schedule.keys.find((key) => key.revokedAt === null && key.activateAt > schedule.now)?.activateAt ??
    planActivation(schedule, this.needs.lifetime);

  /** Returns whether the tenant has this key. One indexed read. */
  exists = async ({ tenant }: RequestContext, kid: string): Promise<boolean> =>
    (await this.#read(this.needs.database, tenant)).keys.some((key) => key.kid === kid);

  #tell = (unit: Transaction, tenant: TenantId) =>
    this.needs.commands.add(unit, [
      { tenantId: tenant.id, workflow: 'issuerKeyRotation', entityId: tenant.id },
    ]);

  #read = async (queryable: Queryable, tenant: TenantId): Promise<Schedule> => {
    const schedule = await this.#store.read(queryable, tenant.id);
    if (schedule === undefined) throw new ServiceError('not_found');
    return schedule;
  };

  /** Stores the times that follow from a change. After the commit, this process reads the keys again. */
  #settle = async (unit: Transaction, tenant: TenantId): Promise<Schedule> => {
    const schedule = await this.#read(unit, tenant);
    const times = arrange(schedule);
    if (times.length > 0) await this.#store.setTimes(unit, tenant.id, times);
    unit.afterCommit(() => this.needs.issuer.forget(tenant.id));
    return times.length > 0 ? this.#read(unit, tenant) : schedule;
  };

  #newDeliveryKey = async (tenant: TenantId, kid: string): Promise<DeliveryKey> => {
    const { publicJwk, pkcs8 } = await generateIssuerKey('EdDSA');
    const deliverySealed = sealSecret(this.needs.masterKeys, deliveryContext(tenant.id, kid), pkcs8);
    return { deliveryJwk: publicJwk, deliverySealed };
  };

  #publish = async (
    unit: Transaction,
    context: Changing,
    { now, algorithm, activateAt }: { now: Date; algorithm: IssuerAlgorithm; activateAt: Date },
    cause: Cause,
  ): Promise<string> => {
    const { tenant } = context;
    const { publicJwk, pkcs8 } = await generateIssuerKey(algorithm);
    const { kid } = publicJwk;
    const privateSealed = sealSecret(this.needs.masterKeys, sealingContext(tenant.id, kid), pkcs8);
    const key = { id: newId(), kid, algorithm, publicJwk, privateSealed, publishedAt: now, activateAt };
    await this.#store.insert(unit, tenant.id, key);
    if (this.#store.signsDeliveries)
      await setDeliveryKey(unit, tenant.id, kid, await this.#newDeliveryKey(tenant, kid));
    const facts = { algorithm, activate_at: activateAt.toISOString() };
    await this.needs.records.write(unit, context, {
      audit: [entry('published', kid, { ...facts, cause })],
      events: [{ type: 'admin.issuer.key.published', data: { kid, ...facts } }],
    });
    return kid;
  };

  /** Makes another key sign: a published key or a new one. @returns that key */
  #succeed = async (
    unit: Transaction,
    context: Changing,
    { now, algorithm }: Schedule,
    succession: Succession,
    cause: Cause,
  ): Promise<string> => {
    const { activateAt } = succession;
    if (succession.kind === 'publish')
      return this.#publish(unit, context, { now, algorithm, activateAt }, cause);
    await this.#store.activate(unit, context.tenant.id, succession.kid, activateAt);
    return succession.kid;
  };

  #revokeKey = async (
    unit: Transaction,
    context: Changing,
    { schedule, key, reason }: { schedule: Schedule; key: ScheduledKey; reason: string },
  ): Promise<void> => {
    const { now, keys } = schedule;
    const { id, kid, algorithm } = key;
    const { tenant } = context;
    const succession = planRevocation(schedule, kid);
    await this.#store.revoke(unit, tenant.id, kid, now, after(now, PUBLISHED_AFTER_SECONDS));
    await this.needs.revocations.endPrincipal(unit, tenant.id, id);
    const successor = succession && (await this.#succeed(unit, context, schedule, succession, 'revocation'));
    const signing = successor ?? signingKeyOf({ now, keys })?.kid ?? null;
    const data = { reason, signing_kid: signing };
    await this.needs.records.write(unit, context, {
      audit: [entry('revoked', kid, data)],
      events: [{ type: 'admin.issuer.key.revoked', data: { kid, algorithm, ...data } }],
    });
  };
}

function entry(action: string, kid: string, data: Readonly<Record<string, unknown>>): AuditEntry {
  return succeeded(`issuer.key.${action}`, { type: 'issuer_key', id: kid }, data);
}
