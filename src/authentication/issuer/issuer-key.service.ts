// Creates, rotates and revokes a tenant's issuer keys. Each change is decided in a transaction that locks the tenant's
// row, and needs no workflow.

import { type AuditContext, type AuditEntry, succeeded } from '../../audit/audit.ts';
import type { RequestContext, SigningAlgorithm, Tenant } from '../../platform/context.ts';
import { type MasterKey, sealSecret } from '../../platform/crypto/secret-box.node.ts';
import type { Database } from '../../platform/database/database.ts';
import { newId } from '../../platform/database/ids.ts';
import type { Queryable, Transaction } from '../../platform/database/transaction.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import type { WorkflowCommandService } from '../../platform/temporal/workflow-command.service.ts';
import { bindUseCases } from '../../platform/use-cases.ts';
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
  store?: typeof issuerKeyStore | undefined;
  masterKeys: readonly MasterKey[];
  issuer: Pick<IssuerService, 'forget'>;
  revocations: Pick<RevocationService, 'endPrincipal'>;
  records: Pick<RecordService, 'write'>;
  commands: Pick<WorkflowCommandService, 'add'>;
  lifetime: number;
};

/**
 * Manages the issuer keys of tenants. Source: Specification, "Agent access token claims"; RFC 7517.
 * @param store of the keys: by default those of access tokens
 * @param lifetime seconds for which a key signs
 */
export function createIssuerKeyService(needs: IssuerKeyNeeds) {
  const tools = prepareIssuerKey(needs);
  return {
    ...bindUseCases(tools, {
      createFirstKey,
      ensureKey,
      changeAlgorithm,
      rotate,
      revoke,
      lock,
      publishNext,
      retire,
      remove,
    }),
    /** Reads the tenant's keys in one round trip. @throws ServiceError `not_found` (tenant) */
    read: ({ tenant, transaction }: Pick<RequestContext, 'transaction'> & { tenant: TenantId }) =>
      read(tools, transaction ?? tools.database, tenant),
    /** Returns when the next key begins to sign: the time in its row, or else the planned time. */
    nextRotation: (schedule: Schedule): Date =>
      schedule.keys.find((key) => key.revokedAt === null && key.activateAt > schedule.now)?.activateAt ??
      planActivation(schedule, tools.lifetime),
    exists: async ({ tenant }: RequestContext, kid: string): Promise<boolean> =>
      (await read(tools, tools.database, tenant)).keys.some((key) => key.kid === kid),
  };
}

export type IssuerKeyService = ReturnType<typeof createIssuerKeyService>;

type IssuerKeyTools = ReturnType<typeof prepareIssuerKey>;

function prepareIssuerKey({ store = issuerKeyStore, ...needs }: IssuerKeyNeeds) {
  return { ...needs, store };
}

/** Creates a tenant's first key, which signs immediately. The caller starts the workflow of the tenant's keys. */
async function createFirstKey(
  needs: IssuerKeyTools,
  unit: Transaction,
  context: Changing,
  algorithm: SigningAlgorithm,
): Promise<void> {
  const { now } = await read(needs, unit, context.tenant);
  await publish(needs, unit, context, { now, algorithm, activateAt: now }, 'schedule');
  await tell(needs, unit, context.tenant);
}

/** Creates a key that signs immediately, unless the tenant has one. */
async function ensureKey(needs: IssuerKeyTools, unit: Transaction, context: Changing): Promise<void> {
  if (signingKeyOf(await read(needs, unit, context.tenant)) !== undefined) return;
  const schedule = await lock(needs, unit, context.tenant);
  const { now, algorithm } = schedule;
  if (signingKeyOf(schedule) !== undefined) return;
  await publish(needs, unit, context, { now, algorithm, activateAt: now }, 'schedule');
  await settle(needs, unit, context.tenant);
  await tell(needs, unit, context.tenant);
}

/**
 * Changes the tenant's algorithm by publishing a new key. The new key signs after `PUBLISHED_AHEAD_SECONDS`, so
 * that each verifier can read it first. A request for the current algorithm changes nothing.
 */
async function changeAlgorithm(
  needs: IssuerKeyTools,
  unit: Transaction,
  context: Changing,
  algorithm: SigningAlgorithm,
): Promise<void> {
  const { tenant } = context;
  const schedule = await lock(needs, unit, tenant);
  const { drop, publishAt } = planAlgorithm(schedule, algorithm);
  if (drop.length > 0) await needs.store.remove(unit, tenant.id, drop);
  await needs.records.write(unit, context, {
    audit: drop.map((kid) => entry('removed', kid, { cause: 'algorithm' })),
  });
  if (publishAt !== null)
    await publish(needs, unit, context, { now: schedule.now, algorithm, activateAt: publishAt }, 'algorithm');
  await settle(needs, unit, tenant);
  await tell(needs, unit, tenant);
}

/**
 * Makes the next key sign as soon as every verifier can have read it: immediately if it was published at least ten
 * minutes ago. A second call within ten minutes of a rotation changes nothing.
 * @returns the schedule afterwards
 */
function rotate(
  needs: IssuerKeyTools,
  context: RequestContext,
  { reason, by = 'request' }: { reason?: string | undefined; by?: AskedBy | undefined } = {},
): Promise<Schedule> {
  return needs.database.transaction(context, async (transaction: Transaction) => {
    const schedule = await lock(needs, transaction, context.tenant);
    const succession = planRotation(schedule);
    if (succession === null) return schedule;
    const kid = await succeed(needs, transaction, context, schedule, succession, 'rotation');
    const data = {
      reason: reason ?? null,
      previous_kid: signingKeyOf(schedule)?.kid ?? null,
      activate_at: succession.activateAt.toISOString(),
    };
    await needs.records.write(transaction, context, { audit: [entry('rotated', kid, data)] });
    if (by === 'request') await tell(needs, transaction, context.tenant);
    return settle(needs, transaction, context.tenant);
  });
}

/**
 * Revokes a key. After the commit, this process no longer publishes it or signs with it; other processes follow
 * within a second. Tokens that it signed are refused. If it is the signing key, the next key or a new key signs
 * from then on. A repeated call changes nothing.
 * @returns the schedule afterwards
 * @throws ServiceError `not_found`
 */
function revoke(
  needs: IssuerKeyTools,
  context: RequestContext,
  kid: string,
  { reason, by = 'request' }: { reason: string; by?: AskedBy | undefined },
): Promise<Schedule> {
  return needs.database.transaction(context, async (transaction: Transaction) => {
    const schedule = await lock(needs, transaction, context.tenant);
    const key = schedule.keys.find((candidate) => candidate.kid === kid);
    if (key === undefined) throw new ServiceError('not_found');
    if (key.revokedAt !== null) return schedule;
    await revokeKey(needs, transaction, context, { schedule, key, reason });
    if (by === 'request') await tell(needs, transaction, context.tenant);
    return settle(needs, transaction, context.tenant);
  });
}

async function lock(needs: IssuerKeyTools, unit: Transaction, tenant: TenantId): Promise<Schedule> {
  await lockKeys(unit, tenant.id);
  return read(needs, unit, tenant);
}

/** Publishes the next key. The caller passes the locked schedule. */
async function publishNext(
  needs: IssuerKeyTools,
  unit: Transaction,
  context: Changing,
  schedule: Schedule,
): Promise<void> {
  const { now, algorithm } = schedule;
  const activateAt = planActivation(schedule, needs.lifetime);
  await publish(needs, unit, context, { now, algorithm, activateAt }, 'schedule');
  await settle(needs, unit, context.tenant);
}

/** Destroys the private halves of keys that no longer sign. The caller passes the locked schedule. */
async function retire(
  { store, records, issuer }: IssuerKeyTools,
  unit: Transaction,
  context: Changing,
  schedule: Schedule,
): Promise<void> {
  const retired = keysToRetire(schedule);
  const signing = signingKeyOf(schedule);
  if (signing === undefined || retired.length === 0) return;
  await store.destroyPrivate(
    unit,
    context.tenant.id,
    retired.map(({ kid }) => kid),
  );
  const { kid, algorithm, activateAt } = signing;
  await records.write(unit, context, {
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
  unit.afterCommit(() => issuer.forget(context.tenant.id));
}

/** Deletes the keys whose tokens have all expired. The caller passes the locked schedule. */
async function remove(
  { store, records, issuer }: IssuerKeyTools,
  unit: Transaction,
  context: Changing,
  schedule: Schedule,
): Promise<void> {
  const kids = keysToRemove(schedule).map(({ kid }) => kid);
  await store.remove(unit, context.tenant.id, kids);
  await records.write(unit, context, {
    audit: kids.map((kid) => entry('removed', kid, { cause: 'schedule' })),
  });
  unit.afterCommit(() => issuer.forget(context.tenant.id));
}

function tell({ commands }: IssuerKeyTools, unit: Transaction, tenant: TenantId) {
  return commands.add(unit, [{ tenantId: tenant.id, workflow: 'issuerKeyRotation', entityId: tenant.id }]);
}

async function read({ store }: IssuerKeyTools, queryable: Queryable, tenant: TenantId): Promise<Schedule> {
  const schedule = await store.read(queryable, tenant.id);
  if (schedule === undefined) throw new ServiceError('not_found');
  return schedule;
}

/** Stores the times that follow from a change. After the commit, this process reads the keys again. */
async function settle(needs: IssuerKeyTools, unit: Transaction, tenant: TenantId): Promise<Schedule> {
  const schedule = await read(needs, unit, tenant);
  const times = arrange(schedule);
  if (times.length > 0) await needs.store.setTimes(unit, tenant.id, times);
  unit.afterCommit(() => needs.issuer.forget(tenant.id));
  return times.length > 0 ? read(needs, unit, tenant) : schedule;
}

async function newDeliveryKey(
  { masterKeys }: IssuerKeyTools,
  tenant: TenantId,
  kid: string,
): Promise<DeliveryKey> {
  const { publicJwk, pkcs8 } = await generateIssuerKey('EdDSA');
  const deliverySealed = sealSecret(masterKeys, deliveryContext(tenant.id, kid), pkcs8);
  return { deliveryJwk: publicJwk, deliverySealed };
}

async function publish(
  needs: IssuerKeyTools,
  unit: Transaction,
  context: Changing,
  { now, algorithm, activateAt }: { now: Date; algorithm: IssuerAlgorithm; activateAt: Date },
  cause: Cause,
): Promise<string> {
  const { tenant } = context;
  const { publicJwk, pkcs8 } = await generateIssuerKey(algorithm);
  const { kid } = publicJwk;
  const privateSealed = sealSecret(needs.masterKeys, sealingContext(tenant.id, kid), pkcs8);
  const key = { id: newId(), kid, algorithm, publicJwk, privateSealed, publishedAt: now, activateAt };
  await needs.store.insert(unit, tenant.id, key);
  if (needs.store.signsDeliveries)
    await setDeliveryKey(unit, tenant.id, kid, await newDeliveryKey(needs, tenant, kid));
  const facts = { algorithm, activate_at: activateAt.toISOString() };
  await needs.records.write(unit, context, {
    audit: [entry('published', kid, { ...facts, cause })],
    events: [{ type: 'admin.issuer.key.published', data: { kid, ...facts } }],
  });
  return kid;
}

/** Makes another key sign: a published key or a new one. @returns that key */
async function succeed(
  needs: IssuerKeyTools,
  unit: Transaction,
  context: Changing,
  { now, algorithm }: Schedule,
  succession: Succession,
  cause: Cause,
): Promise<string> {
  const { activateAt } = succession;
  if (succession.kind === 'publish')
    return publish(needs, unit, context, { now, algorithm, activateAt }, cause);
  await needs.store.activate(unit, context.tenant.id, succession.kid, activateAt);
  return succession.kid;
}

async function revokeKey(
  needs: IssuerKeyTools,
  unit: Transaction,
  context: Changing,
  { schedule, key, reason }: { schedule: Schedule; key: ScheduledKey; reason: string },
): Promise<void> {
  const { now, keys } = schedule;
  const { id, kid, algorithm } = key;
  const { tenant } = context;
  const succession = planRevocation(schedule, kid);
  await needs.store.revoke(unit, tenant.id, {
    kid,
    revokedAt: now,
    removeAt: after(now, PUBLISHED_AFTER_SECONDS),
  });
  await needs.revocations.endPrincipal(unit, tenant.id, id);
  const successor = succession && (await succeed(needs, unit, context, schedule, succession, 'revocation'));
  const signing = successor ?? signingKeyOf({ now, keys })?.kid ?? null;
  const data = { reason, signing_kid: signing };
  await needs.records.write(unit, context, {
    audit: [entry('revoked', kid, data)],
    events: [{ type: 'admin.issuer.key.revoked', data: { kid, algorithm, ...data } }],
  });
}

function entry(action: string, kid: string, data: Readonly<Record<string, unknown>>): AuditEntry {
  return succeeded(`issuer.key.${action}`, { type: 'issuer_key', id: kid }, data);
}
