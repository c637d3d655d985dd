// What a token request of a client leaves behind: audit entries and events. It must never be given a token or a secret.
import type { AuditService } from '../audit/audit.service.ts';
import type { Episode } from '../audit/brute-force.service.ts';
import { createFailureReporter } from '../audit/failure.reporter.ts';
import type { RequestContext } from '../context.ts';
import { createCoalescer } from '../database/coalescer.ts';
import type { Database } from '../database/database.ts';
import type { ErrorCode } from '../errors/catalogue.ts';
import type { EventService, JsonObject } from '../events/event.service.ts';
import type { AccessTokenGrant } from './access-token.ts';
import { CLIENT_CREDENTIALS } from './client-credentials.ts';
import { type ClientRecord, createClientRecordStore } from './client-record.store.ts';
import type { IssuedAccessToken } from './token.service.ts';

/** A failure of a client that exists. @see createClientRecordService */
type Failure = {
  readonly context: RequestContext;
  readonly clientId: string;
  readonly reason: ErrorCode;
  readonly method: string;
  /** The episode that it began. */
  readonly episode?: Episode;
};

/** Records of client credentials requests. Source: Specification, "Event types". */
export function createClientRecordService({
  database,
  audit,
  events,
  onError,
}: {
  database: Pick<Database, 'hot' | 'query'>;
  audit: Pick<AuditService, 'append' | 'prepare' | 'parts'>;
  events: Pick<EventService, 'emit' | 'prepare' | 'parts' | 'announce'>;
  /** Told when the record of a failure could not be written. */
  onError: (error: unknown) => void;
}) {
  const store = createClientRecordStore({ database, audit, events });
  const successes = createCoalescer<ClientRecord, void>({
    sizeOf: (record) => ({
      rows: record.audit.length + record.events.length,
      bytes: record.events.reduce((sum, { body }) => sum + body.length, 0),
    }),
    run: async (batch) => {
      events.announce(await store.insert(batch));
      return batch.map(() => undefined);
    },
  });
  const reporter = createFailureReporter<Failure>({ tell: writeFailure, onError });

  async function writeFailure(
    { context, clientId, reason, method, episode }: Failure,
    count: number,
  ): Promise<void> {
    const type = episode === undefined ? 'auth.login.failure' : 'security.brute_force.detected';
    const number =
      episode === undefined
        ? { count }
        : { failures: episode.failures, window_seconds: episode.windowSeconds };
    const facts = { method, ...number, address: context.address };
    await database.hot(async (unit) => {
      await audit.append(unit, context, [
        {
          action: type,
          outcome: 'failure',
          reason,
          target: { type: 'application', id: clientId },
          data: facts,
        },
      ]);
      await events.emit(unit, context, [{ type, data: { ...facts, client_id: clientId, reason } }]);
    });
  }

  return {
    /** Records an issued token; it is committed when this resolves. Requests at the same time share one statement. */
    success: async (
      context: RequestContext,
      { sub, audience, scopes, clientId, agent }: AccessTokenGrant,
      { tokenId, expiresIn }: IssuedAccessToken,
    ): Promise<void> => {
      const actor = { kind: agent === undefined ? 'application' : 'agent', id: sub } as const;
      const common = {
        outcome: 'success',
        actor,
        target: { type: 'application', id: clientId },
        tokenId,
      } as const;
      const token = { method: CLIENT_CREDENTIALS, scope: scopes.join(' '), audience };
      const subject: JsonObject = {
        method: CLIENT_CREDENTIALS,
        client_id: clientId,
        sub,
        ...(agent === undefined ? {} : { agent_id: sub }),
      };
      await successes.add({
        audit: audit.prepare(context, [
          { ...common, action: 'auth.login.success', data: { method: CLIENT_CREDENTIALS } },
          { ...common, action: 'auth.token.issued', data: token },
        ]),
        events: events.prepare(context, [
          { type: 'auth.login.success', data: { ...subject, address: context.address } },
          {
            type: 'auth.token.issued',
            data: { ...subject, ...token, token_id: tokenId, expires_in: expiresIn },
          },
        ]),
      });
    },

    /** Counts a failure of an existing client; written in the background, once a minute a client, reason and method. */
    failure: (
      context: RequestContext,
      clientId: string,
      reason: ErrorCode,
      method: string = CLIENT_CREDENTIALS,
    ): void =>
      reporter.report(`${clientId}:${reason}:${method}`, {
        context,
        clientId,
        reason,
        method,
      }),

    /** Tells that secrets of a client are being guessed; written in the background. */
    bruteForce: (context: RequestContext, clientId: string, episode: Episode): void =>
      reporter.report(`${clientId}:episode`, {
        context,
        clientId,
        reason: 'invalid_client',
        method: CLIENT_CREDENTIALS,
        episode,
      }),

    /** Waits for what is being written. */
    settled: () => reporter.settled(),

    /** Writes what waits and what was counted; called once, when the process stops. */
    close: async (): Promise<void> => {
      await Promise.all([successes.drain(), reporter.close()]);
    },
  };
}

export type ClientRecordService = ReturnType<typeof createClientRecordService>;
