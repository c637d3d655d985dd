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
import { Service } from '../../platform/service.ts';
import type { SubscriptionRow } from '../subscriptions/subscription.model.ts';
import {
  recordChange,
  type SubscriptionChangeNeeds,
  SubscriptionChangeService,
} from '../subscriptions/subscription-change.service.ts';
import type { SubscriptionSealing } from '../subscriptions/subscription-sealing.service.ts';
import { EVENTS_SUPPORTED, eventsDelivered, typesOf, VERIFICATION } from './security-event.ts';
import type { StreamRow } from './stream.model.ts';
import type { StreamChange } from './stream.store.ts';
import * as store from './stream.store.ts';
import {
  agentOfSubject,
  checkSupplied,
  decideDelivery,
  METHOD_URIS,
  type StreamInput,
  type StreamName,
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
  /** Creates the key that signs the tenant's security event tokens. */
  eventKeys: Pick<IssuerKeyService, 'ensureKey'>;
  /** Networks, besides public addresses, in which receivers may be. */
  admittedNetworks: readonly Network[];
};

/** The streams of a receiver. Source: OpenID Shared Signals Framework 1.0, §8. */
export class StreamService extends Service<StreamNeeds> {
  readonly #changes = new SubscriptionChangeService(this.needs);

  /**
   * Creates a stream for the calling client, whose id is its audience. Emits `webhook.endpoint.created`.
   * @throws ServiceError `invalid_request` for a URL that a receiver may not have, `conflict` for one stream or
   * subscription too many
   */
  create = (context: RequestContext, input: StreamInput): Promise<StreamConfiguration> => {
    const { headers, method, ...place } = decideDelivery(input.delivery, this.needs.admittedNetworks);
    const eventsRequested = input.events_requested ?? null;
    return this.needs.database.transaction(context, async (unit) => {
      await this.#changes.admit(unit, context.tenant);
      const id = newId();
      const name = nameOf(context, id);
      const [tenantId, receiver] = name;
      if ((await store.list(unit, tenantId, receiver)).length >= MOST_STREAMS)
        throw new ServiceError('conflict', { detail: `A client has at most ${MOST_STREAMS} streams.` });
      await this.needs.eventKeys.ensureKey(unit, context);
      const eventTypes = typesOf(eventsDelivered(eventsRequested));
      const subscription = {
        id,
        tenantId,
        ...place,
        streamAudience: receiver,
        sink: 'security' as const,
        secretSealed: this.needs.sealing.sealSecret(id, newSigningSecret()),
        headersSealed: this.needs.sealing.sealHeaders(id, headers),
        eventTypes,
        filters: eventTypes,
        description: input.description ?? null,
      };
      await this.#changes.create(unit, context, subscription, method === 'push');
      await store.insert(unit, ...name, method, eventsRequested);
      const row = await store.find(unit, ...name);
      if (row === undefined) throw unknownStream();
      return configurationOf(context, row);
    });
  };

  /** Lists the streams of the application. */
  list = async (context: RequestContext): Promise<StreamConfiguration[]> => {
    const [tenantId, receiver] = nameOf(context, '');
    const rows = await store.list(context.transaction ?? this.needs.database, tenantId, receiver);
    return rows.map((row) => configurationOf(context, row));
  };

  /** Changes a stream so that what the input does not name is as in a new stream. As `update`. */
  replace = (context: RequestContext, id: string, input: StreamInput, sent: object) =>
    this.#change(context, id, { ...sent }, (row) =>
      this.#changeOf({ ...row, eventsRequested: null, description: null }, input),
    );

  /**
   * Deletes a stream and cancels what it still holds. Emits `webhook.endpoint.deleted`.
   * @throws ServiceError `not_found`
   */
  remove = (context: RequestContext, id: string): Promise<void> =>
    this.needs.database.transaction(context, async (unit) => {
      await lock(unit, context, id);
      await this.#changes.remove(unit, context, id);
    });

  /**
   * Sets the status. A paused stream holds its events, and sends them once it is enabled. A disabled one gets none,
   * and what it held is canceled. Emits `webhook.endpoint.activated` or `deactivated`.
   * @throws ServiceError `not_found`
   */
  setStatus = async (
    context: RequestContext,
    id: string,
    { status, reason = null }: { status: StreamStatus; reason?: string | null | undefined },
  ): Promise<StreamState> => {
    // What an interrupted request has left of an earlier disabling is not sent.
    while (await this.#discardDisabled(context, id));
    await this.needs.database.transaction(context, async (unit) => {
      const before = await lock(unit, context, id);
      const { status: shown } = statusOf(before);
      const to = { ...this.#changeOf(before, {}), status, reason };
      const after = await this.#apply(unit, context, { ...before, status: shown }, to);
      const verb = status === 'enabled' ? 'activated' : 'deactivated';
      if (status !== shown)
        await recordChange(this.needs, unit, context, verb, after, { fields: ['status'] });
    });
    while (await this.#discardDisabled(context, id));
    return stateOf(id, { status, reason });
  };

  /**
   * Decides whether the stream gets events about an agent; at first it gets those about all. A subject that is no
   * agent of the tenant is ignored in silence, so that answers do not tell which agents there are (SSF §9.1).
   * @throws ServiceError `not_found` for an unknown stream
   */
  setSubject = (
    context: RequestContext,
    id: string,
    { subject, isExcluded }: { subject: Readonly<Record<string, unknown>>; isExcluded: boolean },
  ): Promise<void> =>
    this.needs.database.transaction(context, async (unit) => {
      await lock(unit, context, id);
      const agentId = agentOfSubject(subject, context.tenant.issuerUrl);
      const isKnown =
        agentId !== undefined &&
        UUID.test(agentId) &&
        (await this.needs.agents.exists({ ...context, transaction: unit }, agentId));
      if (!isKnown) return;
      await (isExcluded ? store.exclude : store.include)(unit, id, agentId);
      const action = isExcluded ? 'webhook.stream.subject_removed' : 'webhook.stream.subject_added';
      const target = { type: 'subscription', id };
      await this.needs.records.write(unit, context, {
        audit: [{ action, outcome: 'success', target, data: { agent_id: agentId } }],
      });
    });

  /**
   * Sends a verification event to the stream alone, behind the events that it holds.
   * @throws ServiceError `not_found`; `subscription_inactive` for a disabled stream, which may get no event
   */
  verify = (context: RequestContext, id: string, state: string | undefined): Promise<void> =>
    this.needs.database.transaction(context, async (unit) => {
      const { status } = await lock(unit, context, id);
      if (status === 'disabled')
        throw new ServiceError('subscription_inactive', { detail: 'The stream is disabled.' });
      const data = { subscription_id: id, ...(state === undefined ? {} : { state }) };
      await this.needs.records.write(unit, context, {
        events: [{ type: VERIFICATION, data, onlySubscription: id, test: true }],
      });
    });

  /** Returns whether the application has this stream. */
  exists = async (context: RequestContext, id: string): Promise<boolean> =>
    (await store.find(context.transaction ?? this.needs.database, ...nameOf(context, id))) !== undefined;

  /** @throws ServiceError `not_found` for a stream of another receiver */
  get = async (context: RequestContext, id: string): Promise<StreamConfiguration> =>
    configurationOf(context, await this.#find(context, id));

  /**
   * Changes what the input names. Deliveries that wait go to the new receiver. Emits `webhook.endpoint.updated`.
   * @param sent the members of the request, with those that the service supplies
   * @throws ServiceError `not_found`, `invalid_request`
   */
  update = (context: RequestContext, id: string, input: StreamInput, sent: object) =>
    this.#change(context, id, { ...sent }, (row) => this.#changeOf(row, input));

  /** @throws ServiceError `not_found` */
  status = async (context: RequestContext, id: string): Promise<StreamState> =>
    stateOf(id, statusOf(await this.#find(context, id)));

  /**
   * Cancels what a disabled stream holds in one statement. A transaction for each, because there may be much, and
   * records of attempts wait for the locked subscription. @returns whether there is more
   */
  #discardDisabled = (context: RequestContext, id: string): Promise<boolean> =>
    this.needs.database.transaction(context, async (unit) => {
      const { status } = await lock(unit, context, id);
      if (status !== 'disabled') return false;
      return this.#changes.discard(unit, context, id, await this.needs.deliveries.cancelUnfinished(unit, id));
    });

  #find = async (context: RequestContext, id: string): Promise<StreamRow> => {
    const row = await store.find(context.transaction ?? this.needs.database, ...nameOf(context, id));
    if (row === undefined) throw unknownStream();
    return row;
  };

  /** What a stream becomes by an input whose missing members keep what they are. */
  #changeOf = (row: StreamRow, input: StreamInput): StreamChange => {
    const stored = this.needs.sealing.openHeaders(row.id, row.headersSealed);
    const delivery =
      input.delivery === undefined
        ? { method: row.method, url: row.url, host: row.host, headers: stored }
        : decideDelivery(input.delivery, this.needs.admittedNetworks, { url: row.url, headers: stored });
    const { headers, ...place } = delivery;
    return {
      ...place,
      headersSealed: this.needs.sealing.sealHeaders(row.id, headers),
      eventsRequested: input.events_requested ?? row.eventsRequested,
      description: input.description ?? row.description,
      status: row.status,
      reason: row.reason,
    };
  };

  /** Writes a change with what follows for the endpoint. A disabled stream has no filters. */
  #apply = async (
    unit: Transaction,
    context: RequestContext,
    before: StreamRow,
    to: StreamChange,
  ): Promise<SubscriptionRow> => {
    const { method, eventsRequested, status, reason, ...shared } = to;
    const eventTypes = typesOf(eventsDelivered(eventsRequested));
    await store.change(unit, before.id, method, eventsRequested, status, reason);
    const keeps = method === before.method && status === before.status;
    const { after } = await this.#changes.change(unit, context, before, {
      ...shared,
      eventTypes,
      filters: status === 'disabled' ? [] : eventTypes,
      ...(status === 'enabled' ? { disabledReason: null } : {}),
      active: keeps ? undefined : method === 'push' && status === 'enabled',
    });
    return after;
  };

  #change = (
    context: RequestContext,
    id: string,
    sent: Readonly<Record<string, unknown>>,
    decide: (row: StreamRow) => StreamChange,
  ): Promise<StreamConfiguration> =>
    this.needs.database.transaction(context, async (unit) => {
      const before = await lock(unit, context, id);
      checkSupplied(sent, configurationOf(context, before));
      const to = decide(before);
      const after = await this.#apply(unit, context, before, to);
      await recordChange(this.needs, unit, context, 'updated', after, { fields: Object.keys(sent) });
      return configurationOf(context, { ...before, ...to });
    });
}

async function lock(unit: Transaction, context: RequestContext, id: string): Promise<StreamRow> {
  const row = await store.lock(unit, ...nameOf(context, id));
  if (row === undefined) throw unknownStream();
  return row;
}

/** The stream as only its own receiver can name it. */
export function nameOf({ tenant, principal }: RequestContext, id: string): StreamName {
  return [tenant.id, principal?.clientId ?? '', id];
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
