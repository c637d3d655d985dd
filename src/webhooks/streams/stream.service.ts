// Creates, changes and deletes streams, for the client that created them. A stream is a subscription whose deliveries
// are security event tokens, so the engine of deliveries serves it: a paused stream is an endpoint that is closed.
// docs/decisions/0027-streams.md

import type { IssuerKeyService } from '../../authentication/issuer/issuer-key.service.ts';
import type { AgentService } from '../../identity/agents/agent.service.ts';
import type { RequestContext } from '../../platform/context.ts';
import { newSigningSecret } from '../../platform/crypto/opaque-secret.node.ts';
import type { Database } from '../../platform/database/database.ts';
import { newId } from '../../platform/database/ids.ts';
import type { Transaction } from '../../platform/database/transaction.ts';
import type { Network } from '../../platform/egress/address-rules.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import { bindUseCases } from '../../platform/use-cases.ts';
import type { SubscriptionRow } from '../subscriptions/subscription.model.ts';
import {
  createSubscriptionChangeService,
  type SubscriptionChangeNeeds,
} from '../subscriptions/subscription-change.service.ts';
import type { SubscriptionSealing } from '../subscriptions/subscription-sealing.service.ts';
import { EVENTS_SUPPORTED, eventsDelivered, typesOf, VERIFICATION } from './security-event.ts';
import type { StreamChange } from './stream.store.ts';
import * as store from './stream.store.ts';
import {
  agentOfSubject,
  checkSupplied,
  decideDelivery,
  METHOD_URIS,
  type StreamInput,
  type StreamName,
  type StreamRow,
  type StreamStatus,
  statusOf,
  UUID,
} from './stream.ts';

/** The members of a configuration as receivers read them (SSF §8.1.1). */
export type StreamConfiguration = ReturnType<typeof configurationOf>;

export type StreamState = { stream_id: string; status: StreamStatus; reason?: string };

/** Of one client. Each event is a delivery to each. */
const MOST_STREAMS = 100;

/** The header of deliveries, shown masked. */
const MASKED = '***';

export type StreamNeeds = SubscriptionChangeNeeds & {
  database: Pick<Database, 'transaction' | 'query'>;
  sealing: Pick<SubscriptionSealing, 'sealSecret' | 'sealHeaders' | 'openHeaders'>;
  agents: Pick<AgentService, 'exists'>;
  eventKeys: Pick<IssuerKeyService, 'ensureKey'>;
  admittedNetworks: readonly Network[];
};

/**
 * The streams of a receiver. Source: OpenID Shared Signals Framework 1.0, §8.
 * @param eventKeys creates the key that signs the tenant's security event tokens
 * @param admittedNetworks networks, besides public addresses, in which receivers may be
 */
export function createStreamService(needs: StreamNeeds) {
  const tools = prepareStream(needs);
  return {
    ...bindUseCases(tools, { create, list, replace, remove, setStatus, setSubject, verify }),
    exists: async (context: RequestContext, id: string): Promise<boolean> =>
      (await store.find(context.transaction ?? tools.database, nameOf(context, id))) !== undefined,
    /** @throws ServiceError `not_found` for a stream of another receiver */
    get: async (context: RequestContext, id: string): Promise<StreamConfiguration> =>
      configurationOf(context, await find(tools, context, id)),
    /**
     * Changes what the input names. Deliveries that wait go to the new receiver. Emits `webhook.endpoint.updated`.
     * @param sent the members of the request, with those that the service supplies
     * @throws ServiceError `not_found`, `invalid_request`
     */
    update: (context: RequestContext, id: string, input: StreamInput, sent: object) =>
      change(tools, context, id, { ...sent }, (row) => changeOf(tools, row, input)),
    /** @throws ServiceError `not_found` */
    status: async (context: RequestContext, id: string): Promise<StreamState> =>
      stateOf(id, statusOf(await find(tools, context, id))),
  };
}

export type StreamService = ReturnType<typeof createStreamService>;

type StreamTools = ReturnType<typeof prepareStream>;

function prepareStream(needs: StreamNeeds) {
  return { ...needs, changes: createSubscriptionChangeService(needs) };
}

/**
 * Creates a stream for the calling client, whose id is its audience. Emits `webhook.endpoint.created`.
 * @throws ServiceError `invalid_request` for a URL that a receiver may not have, `conflict` for one stream or
 * subscription too many
 */
function create(
  needs: StreamTools,
  context: RequestContext,
  input: StreamInput,
): Promise<StreamConfiguration> {
  const { headers, method, ...place } = decideDelivery(input.delivery, needs.admittedNetworks);
  const eventsRequested = input.events_requested ?? null;
  return needs.database.transaction(context, async (unit) => {
    await needs.changes.admit(unit, context.tenant);
    const id = newId();
    const name = nameOf(context, id);
    if ((await store.list(unit, name)).length >= MOST_STREAMS)
      throw new ServiceError('conflict', { detail: `A client has at most ${MOST_STREAMS} streams.` });
    await needs.eventKeys.ensureKey(unit, context);
    const eventTypes = typesOf(eventsDelivered(eventsRequested));
    const subscription = {
      id,
      tenantId: name.tenantId,
      ...place,
      streamAudience: name.receiver,
      sink: 'security' as const,
      secretSealed: needs.sealing.sealSecret(id, newSigningSecret()),
      headersSealed: needs.sealing.sealHeaders(id, headers),
      eventTypes,
      filters: eventTypes,
      description: input.description ?? null,
    };
    await needs.changes.create(unit, context, subscription, method === 'push');
    await store.insert(unit, { ...name, method, eventsRequested });
    const row = await store.find(unit, name);
    if (row === undefined) throw unknownStream();
    return configurationOf(context, row);
  });
}

async function list({ database }: StreamTools, context: RequestContext): Promise<StreamConfiguration[]> {
  const { tenantId, receiver } = nameOf(context, '');
  const rows = await store.list(context.transaction ?? database, { tenantId, receiver });
  return rows.map((row) => configurationOf(context, row));
}

/** Changes a stream so that what the input does not name is as in a new stream. As `update`. */
function replace(needs: StreamTools, context: RequestContext, id: string, input: StreamInput, sent: object) {
  return change(needs, context, id, { ...sent }, (row) =>
    changeOf(needs, { ...row, eventsRequested: null, description: null }, input),
  );
}

/**
 * Deletes a stream and cancels what it still holds. Emits `webhook.endpoint.deleted`.
 * @throws ServiceError `not_found`
 */
function remove(needs: StreamTools, context: RequestContext, id: string): Promise<void> {
  return needs.database.transaction(context, async (unit) => {
    await lock(unit, context, id);
    await needs.changes.remove(unit, context, id);
  });
}

/**
 * Sets the status. A paused stream holds its events, and sends them once it is enabled. A disabled one gets none,
 * and what it held is canceled. Emits `webhook.endpoint.activated` or `deactivated`.
 * @throws ServiceError `not_found`
 */
async function setStatus(
  needs: StreamTools,
  context: RequestContext,
  id: string,
  { status, reason = null }: { status: StreamStatus; reason?: string | null | undefined },
): Promise<StreamState> {
  // What an interrupted request has left of an earlier disabling is not sent.
  while (await discardDisabled(needs, context, id));
  await needs.database.transaction(context, async (unit) => {
    const before = await lock(unit, context, id);
    const { status: shown } = statusOf(before);
    const to = { ...changeOf(needs, before, {}), status, reason };
    const after = await apply(needs, unit, context, { ...before, status: shown }, to);
    const verb = status === 'enabled' ? 'activated' : 'deactivated';
    if (status !== shown) await needs.changes.record(unit, context, verb, after, { fields: ['status'] });
  });
  while (await discardDisabled(needs, context, id));
  return stateOf(id, { status, reason });
}

/**
 * Cancels what a disabled stream holds in one statement. A transaction for each, because there may be much, and
 * records of attempts wait for the locked subscription. @returns whether there is more
 */
function discardDisabled(needs: StreamTools, context: RequestContext, id: string): Promise<boolean> {
  return needs.database.transaction(context, async (unit) => {
    const { status } = await lock(unit, context, id);
    if (status !== 'disabled') return false;
    return needs.changes.discard(unit, context, id, await needs.deliveries.cancelUnfinished(unit, id));
  });
}

/**
 * Decides whether the stream gets events about an agent; at first it gets those about all. A subject that is no
 * agent of the tenant is ignored in silence, so that answers do not tell which agents there are (SSF §9.1).
 * @throws ServiceError `not_found` for an unknown stream
 */
function setSubject(
  { database, agents, records }: StreamTools,
  context: RequestContext,
  id: string,
  { subject, isExcluded }: { subject: Readonly<Record<string, unknown>>; isExcluded: boolean },
): Promise<void> {
  return database.transaction(context, async (unit) => {
    await lock(unit, context, id);
    const agentId = agentOfSubject(subject, context.tenant.issuerUrl);
    const isKnown =
      agentId !== undefined &&
      UUID.test(agentId) &&
      (await agents.exists({ ...context, transaction: unit }, agentId));
    if (!isKnown) return;
    await store.exclude(unit, { id, agentId, isExcluded });
    const action = isExcluded ? 'webhook.stream.subject_removed' : 'webhook.stream.subject_added';
    const target = { type: 'subscription', id };
    await records.write(unit, context, {
      audit: [{ action, outcome: 'success', target, data: { agent_id: agentId } }],
    });
  });
}

/**
 * Sends a verification event to the stream alone, behind the events that it holds.
 * @throws ServiceError `not_found`; `subscription_inactive` for a disabled stream, which may get no event
 */
function verify(
  { database, records }: StreamTools,
  context: RequestContext,
  id: string,
  state: string | undefined,
): Promise<void> {
  return database.transaction(context, async (unit) => {
    const { status } = await lock(unit, context, id);
    if (status === 'disabled')
      throw new ServiceError('subscription_inactive', { detail: 'The stream is disabled.' });
    const data = { subscription_id: id, ...(state === undefined ? {} : { state }) };
    await records.write(unit, context, {
      events: [{ type: VERIFICATION, data, onlySubscription: id, test: true }],
    });
  });
}

async function lock(unit: Transaction, context: RequestContext, id: string): Promise<StreamRow> {
  const row = await store.lock(unit, nameOf(context, id));
  if (row === undefined) throw unknownStream();
  return row;
}

async function find({ database }: StreamTools, context: RequestContext, id: string): Promise<StreamRow> {
  const row = await store.find(context.transaction ?? database, nameOf(context, id));
  if (row === undefined) throw unknownStream();
  return row;
}

/** What a stream becomes by an input whose missing members keep what they are. */
function changeOf(
  { sealing, admittedNetworks }: StreamTools,
  row: StreamRow,
  input: StreamInput,
): StreamChange {
  const stored = sealing.openHeaders(row.id, row.headersSealed);
  const delivery =
    input.delivery === undefined
      ? { method: row.method, url: row.url, host: row.host, headers: stored }
      : decideDelivery(input.delivery, admittedNetworks, { url: row.url, headers: stored });
  const { headers, ...place } = delivery;
  return {
    ...place,
    headersSealed: sealing.sealHeaders(row.id, headers),
    eventsRequested: input.events_requested ?? row.eventsRequested,
    description: input.description ?? row.description,
    status: row.status,
    reason: row.reason,
  };
}

/** Writes a change with what follows for the endpoint. A disabled stream has no filters. */
async function apply(
  { changes }: StreamTools,
  unit: Transaction,
  context: RequestContext,
  before: StreamRow,
  to: StreamChange,
): Promise<SubscriptionRow> {
  const { method, eventsRequested, status, reason, ...shared } = to;
  const eventTypes = typesOf(eventsDelivered(eventsRequested));
  await store.change(unit, before.id, { method, eventsRequested, status, reason });
  const keeps = method === before.method && status === before.status;
  const { after } = await changes.change(unit, context, before, {
    ...shared,
    eventTypes,
    filters: status === 'disabled' ? [] : eventTypes,
    ...(status === 'enabled' ? { disabledReason: null } : {}),
    active: keeps ? undefined : method === 'push' && status === 'enabled',
  });
  return after;
}

function change(
  needs: StreamTools,
  context: RequestContext,
  id: string,
  sent: Readonly<Record<string, unknown>>,
  decide: (row: StreamRow) => StreamChange,
): Promise<StreamConfiguration> {
  return needs.database.transaction(context, async (unit) => {
    const before = await lock(unit, context, id);
    checkSupplied(sent, configurationOf(context, before));
    const to = decide(before);
    const after = await apply(needs, unit, context, before, to);
    await needs.changes.record(unit, context, 'updated', after, { fields: Object.keys(sent) });
    return configurationOf(context, { ...before, ...to });
  });
}

/** The stream as only its own receiver can name it. */
export function nameOf({ tenant, principal }: RequestContext, id: string): StreamName {
  return { tenantId: tenant.id, receiver: principal?.clientId ?? '', id };
}

export function unknownStream(): ServiceError {
  return new ServiceError('not_found', { detail: 'There is no stream with this id.' });
}

function stateOf(
  id: string,
  { status, reason }: { status: StreamStatus; reason: string | null },
): StreamState {
  return { stream_id: id, status, ...(reason === null ? {} : { reason }) };
}

function configurationOf(
  { tenant }: RequestContext,
  row: Pick<
    StreamRow,
    'id' | 'method' | 'audience' | 'url' | 'headersSealed' | 'eventsRequested' | 'description'
  >,
) {
  const polled = `${tenant.baseUrl}/api/v1/ssf/streams/${row.id}/poll`;
  return {
    stream_id: row.id,
    iss: tenant.issuerUrl,
    aud: row.audience,
    events_supported: [...EVENTS_SUPPORTED],
    ...(row.eventsRequested === null ? {} : { events_requested: [...row.eventsRequested] }),
    events_delivered: eventsDelivered(row.eventsRequested),
    delivery: {
      method: METHOD_URIS[row.method],
      endpoint_url: row.method === 'poll' ? polled : row.url,
      ...(row.headersSealed === null ? {} : { authorization_header: MASKED }),
    },
    ...(row.description === null ? {} : { description: row.description }),
  };
}
