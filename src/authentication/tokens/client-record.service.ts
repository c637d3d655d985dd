// Writes the audit entries and events of clients' token requests. They contain no token and no secret.

import type { AuditEntry } from '../../audit/audit.ts';
import type { Episode } from '../../audit/brute-force.service.ts';
import { FailureReporter } from '../../audit/failure-report.service.ts';
import type { EmittedEvent, JsonObject } from '../../events/event.ts';
import type { Client } from '../../identity/applications/application.service.ts';
import type { RequestContext } from '../../platform/context.ts';
import { createCoalescer } from '../../platform/database/coalescer.ts';
import type { Database } from '../../platform/database/database.ts';
import type { ErrorCode } from '../../platform/errors/catalogue.ts';
import type { Log } from '../../platform/logging.ts';
import { Service } from '../../platform/service.ts';
import type { Happening, PreparedRecords, RecordService } from '../../webhooks/intake/record.service.ts';
import type { AccessTokenGrant } from './access-token.ts';
import type { ClientToken } from './client-credentials.store.ts';
import * as store from './client-credentials.store.ts';
import { CLIENT_CREDENTIALS } from './client-credentials.ts';
import type { ClientMethod } from './client-method.ts';
import type { IssuedAccessToken } from './token.service.ts';

/** How a client authenticated or tried to. `credential`: its secret's id, its key's RFC 7638 thumbprint, or
 * the id of the console's session. */
export type ClientProof = {
  readonly method: ClientMethod | 'console_session';
  readonly credential?: string | undefined;
  /** The secret that must be live: that of the request, or that by which the console's session began. */
  readonly secretId?: string | null | undefined;
};

type Issued = { readonly grant: AccessTokenGrant; readonly issued: IssuedAccessToken };

type IssuedTo = Pick<Client, 'id' | 'version' | 'isHeard'> & { readonly proof: ClientProof };

/** `isAuthenticated`: the credentials were right, and the request was refused for another reason. */
type Failure = {
  readonly context: RequestContext;
  readonly clientId: string;
  readonly reason: ErrorCode;
  readonly method: string;
  readonly proof?: ClientProof | undefined;
  readonly isAuthenticated?: boolean | undefined;
  /** The brute force episode that this failure began. */
  readonly episode?: Episode;
};

/** Greatest number of tokens that wait concurrently for a locked row. Each of them uses its own connection. */
const WAITING = 2;

export type ClientRecordNeeds = {
  database: Pick<Database, 'query'>;
  records: Pick<RecordService, 'prepare' | 'writeBatch' | 'announce'>;
  log: Log<'error'>;
};

/** Creates the records of client credentials requests. Source: Specification, "Event types". */
export class ClientRecordService extends Service<ClientRecordNeeds> {
  readonly #batches = createCoalescer<PreparedRecords, void>({
    sizeOf,
    laneOf,
    run: async (batch) => {
      await this.needs.records.writeBatch(this.needs.database, batch);
      return batch.map(() => undefined);
    },
  });
  readonly #together = createCoalescer<ClientToken, boolean>({
    sizeOf,
    laneOf,
    run: (batch, { isRepeated }) => this.#settle(batch, { waits: false, isRepeated }),
    // A second batch under way would only make both smaller: Postgres took a third more for a token.
    limits: { batches: 1 },
  });
  readonly #alone = createCoalescer<ClientToken, boolean>({
    laneOf,
    run: (batch, { isRepeated }) => this.#settle(batch, { waits: true, isRepeated }),
    limits: { rows: 1, batches: WAITING },
  });
  readonly #reporter = new FailureReporter<Failure>({
    tell: (failure, count, isFirst) => this.#write(failure.context, happeningOf(failure, count, isFirst)),
    onError: (error) => this.#onError(error),
  });

  /**
   * Records a token, in the statement that proves that the client is still as it was read. Concurrent requests share
   * it. The promise resolves after the commit.
   * @param client.isHeard false when no subscription gets the events; then none are made, and nothing is written when
   * one gets them now
   * @param waits whether to wait for a change of the application or its agent that is under way
   * @returns false when nothing was written, and the client has to be read again
   */
  success = async (
    context: RequestContext,
    token: Issued,
    client: IssuedTo,
    { waits }: { waits: boolean },
  ): Promise<boolean> => {
    const { id, version, proof, isHeard } = client;
    const { id: tenantId } = context.tenant;
    const item = {
      client: { tenantId, id, version, secretId: proof.secretId ?? null, isTold: isHeard },
      ...this.needs.records.prepare(context, {
        audit: entriesOf(token, client),
        events: isHeard ? eventsOf(context, token) : [],
      }),
    };
    return (await this.#together.add(item)) || (waits && this.#alone.add(item));
  };

  /**
   * Records a failure of an existing client in the background. Each failure gets an audit entry. The first failure
   * gets an event immediately, later failures share one event a minute with their number.
   * @param method the requested operation, such as a grant
   * @param more.proof how the client authenticated or tried to
   * @param more.isAuthenticated whether its credentials were right
   * @param more.isOnlyCounted true beyond the limit of failures; then nothing is written
   */
  failure = (
    context: RequestContext,
    clientId: string,
    reason: ErrorCode,
    method: string = CLIENT_CREDENTIALS,
    more: { proof?: ClientProof; isAuthenticated?: boolean; isOnlyCounted?: boolean } = {},
  ): void => {
    const { isOnlyCounted = false, ...known } = more;
    const failure: Failure = { context, clientId, reason, method, ...known };
    const isTold = this.#reporter.report(`${clientId}:${reason}:${method}`, failure);
    if (!isTold && !isOnlyCounted)
      this.#write(context, { audit: [describeFailure(failure)] }).catch(this.#onError);
  };

  /** Records in the background that a client's secrets are being guessed. */
  bruteForce = (context: RequestContext, clientId: string, episode: Episode): void =>
    void this.#reporter.report(`${clientId}:episode`, {
      context,
      clientId,
      reason: 'invalid_client',
      method: CLIENT_CREDENTIALS,
      episode,
    });

  /** Waits for the writes that are in progress. */
  settled = async (): Promise<void> => {
    await this.#reporter.settled();
    await Promise.all([this.#batches.drain(), this.#together.drain(), this.#alone.drain()]);
  };

  /** Writes all queued and counted records. Called once, when the process stops. */
  close = async (): Promise<void> => {
    await this.#reporter.close();
    await Promise.all([this.#batches.drain(), this.#together.drain(), this.#alone.drain()]);
  };

  #onError = (error: unknown) =>
    this.needs.log.error(
      { event: 'client_records.write_failed', err: error },
      'a record of what happened could not be written',
    );

  #settle = async (batch: readonly ClientToken[], options: { waits: boolean; isRepeated: boolean }) => {
    const { written, deliveries } = await store.record(this.needs.database, batch, options);
    this.needs.records.announce(deliveries > 0 ? batch.flatMap(({ events }) => events) : [], deliveries);
    return written;
  };

  #write = (context: RequestContext, happening: Happening): Promise<void> =>
    this.#batches.add(this.needs.records.prepare(context, happening));
}

const laneOf = ({ lane }: Pick<PreparedRecords, 'lane'>) => lane;

function sizeOf({ audit, events }: PreparedRecords) {
  return {
    rows: audit.length + events.length,
    bytes: events.reduce((sum, { body }) => sum + body.length, 0),
  };
}

/** One event for `count` failures, and for a first failure its audit entry. */
function happeningOf(failure: Failure, count: number, isFirst: boolean): Happening {
  const { context, clientId, reason, method, episode } = failure;
  const number = episode === undefined ? { count } : episodeFacts(episode);
  const data = { method, ...number, address: context.address, client_id: clientId, reason };
  return {
    audit: isFirst ? [describeFailure(failure)] : [],
    events: [{ type: typeOf(failure), data }],
  };
}

function describeFailure(failure: Failure): AuditEntry {
  const { clientId, reason, method, proof, isAuthenticated, episode } = failure;
  return {
    action: typeOf(failure),
    outcome: 'failure',
    reason,
    ...(isAuthenticated ? { actor: { kind: 'application', id: clientId } as const } : {}),
    target: { type: 'application', id: clientId },
    data: { method, ...proofFacts(proof), ...episodeFacts(episode) },
  };
}

/** The audit entries of an issued token. */
function entriesOf({ grant, issued }: Issued, { proof }: Pick<IssuedTo, 'proof'>): AuditEntry[] {
  const { sub, clientId, agent, jkt } = grant;
  const common = {
    outcome: 'success',
    actor: { kind: agent === undefined ? 'application' : 'agent', id: sub },
    target: { type: 'application', id: clientId },
    tokenId: issued.tokenId,
  } as const;
  const login = { method: CLIENT_CREDENTIALS, ...proofFacts(proof) };
  const token = { ...tokenFacts(grant), ...(jkt === undefined ? {} : { jkt }) };
  return [
    { ...common, action: 'auth.login.success', data: login },
    { ...common, action: 'auth.token.issued', data: token },
  ];
}

/** The events of an issued token. */
function eventsOf({ address }: RequestContext, { grant, issued }: Issued): EmittedEvent[] {
  const { sub, clientId, agent } = grant;
  const subject: JsonObject = {
    method: CLIENT_CREDENTIALS,
    client_id: clientId,
    sub,
    ...(agent === undefined ? {} : { agent_id: sub }),
  };
  const { tokenId: token_id, expiresIn: expires_in } = issued;
  return [
    { type: 'auth.login.success', data: { ...subject, address } },
    { type: 'auth.token.issued', data: { ...subject, ...tokenFacts(grant), token_id, expires_in } },
  ];
}

function tokenFacts({ scopes, audience }: AccessTokenGrant) {
  return { method: CLIENT_CREDENTIALS, scope: scopes.join(' '), audience };
}

function proofFacts(proof: ClientProof | undefined) {
  if (proof === undefined) return {};
  const { method, credential } = proof;
  return { client_auth: method, ...(credential === undefined ? {} : { credential }) };
}

function typeOf({ episode }: Failure): 'auth.login.failure' | 'security.brute_force.detected' {
  return episode === undefined ? 'auth.login.failure' : 'security.brute_force.detected';
}

function episodeFacts(episode: Episode | undefined) {
  return episode === undefined ? {} : { failures: episode.failures, window_seconds: episode.windowSeconds };
}
