// `countersign listen`: shows the tenant's events as they arrive, verifies them, and may forward them to a receiver.
import type { Command } from 'commander';
import { clockTime } from '../../platform/command-times.ts';
import { newSigningSecret } from '../../platform/crypto/opaque-secret.node.ts';
import { parseJson } from '../../platform/json-values.ts';
import { type AccountOptions, openApi, withAccount } from './account.ts';
import { isOnThisMachine, type Listening, listenOnPort, listenToFeed, type Shown } from './listening.ts';
import { createForwarder } from './local-receiver.ts';
import { CommandFailure, readTarget, type TerminalRuntime, timeAgo } from './runtime.ts';
import { type Json, RefusedCall } from './tenant-api.client.ts';

type Options = AccountOptions & {
  readonly forwardTo?: string;
  readonly eventTypes?: string[];
  readonly since?: string;
  readonly feed?: true;
  readonly port: string;
  readonly secret?: string;
};

const EXAMPLES = `
Examples:
  countersign listen --event-types 'orders.*' auth.token.revoked
  countersign listen --forward-to localhost:3000/hooks
  countersign listen --feed --since 10m --json`;

/** Fills in `listen`. @param runtime with `feedOnly` it always follows the feed */
export function registerListenCommand(
  listen: Command,
  runtime: TerminalRuntime & { readonly feedOnly?: boolean },
): void {
  withAccount(
    listen
      .option('--forward-to <url>', 'send each delivery on, with its headers, and give the answer back')
      .option('--event-types <types...>', 'types or patterns such as orders.*; all unless given')
      .option('--since <duration>', 'first what was accepted in the last 90s, 10m, 12h or 7d')
      .option('--feed', 'follow the feed of events: needs no address that the service can reach')
      .option('--port <number>', 'loopback port of the receiver; a free one unless given', '0')
      .option('--secret <text>', 'the secret to sign with, at least 32 bytes; a new one unless given')
      .addHelpText('after', EXAMPLES),
  ).action(async (options: Options) => {
    const since = options.since === undefined ? undefined : timeAgo(options.since, 'since');
    const eventTypes = options.eventTypes?.flatMap((types) => types.split(',')).filter((type) => type !== '');
    const forwardTo =
      options.forwardTo === undefined ? undefined : readTarget(options.forwardTo, '--forward-to');
    const port = readPort(options.port);
    const api = await openApi(runtime, options);
    const secret = options.secret ?? newSigningSecret();
    const seen = new Set<string>();
    const reporter = createReporter(runtime, options.json === true, forwardTo !== undefined);
    const listening: Listening = {
      api,
      eventTypes: eventTypes ?? ['*'],
      forward: forwardTo === undefined ? undefined : createForwarder(forwardTo),
      signal: runtime.interrupted(),
      show: (shown) => {
        const event = (parseJson(shown.body) ?? {}) as Json;
        if (eventTypes === undefined && isOwnSignIn(event, api.account.clientId)) return;
        seen.add(String(event.event_id));
        reporter.show(shown, event);
      },
    };
    const tell = (line: string) => runtime.tell(line);
    const followFeed = async () => {
      tell(`Following the feed of ${api.account.baseUrl} until Ctrl-C.`);
      if (forwardTo !== undefined) tell(`Forwarded to ${forwardTo}, signed with the secret ${secret}`);
      await listenToFeed(listening, { secret, since, follow: true });
    };
    if (runtime.feedOnly === true || options.feed === true || !isOnThisMachine(api.account.baseUrl))
      return followFeed();
    try {
      await listenOnPort(listening, {
        secret,
        port,
        onAttempt: reporter.showAttempt,
        onLeft: (id, { message }) => {
          runtime.fail(1);
          tell(`The subscription ${id} is still there (${message}); the next countersign listen removes it.`);
        },
        onReady: async ({ id, url }) => {
          tell(`Listening for ${listening.eventTypes.join(', ')} of ${api.account.baseUrl} until Ctrl-C.`);
          if (eventTypes === undefined)
            tell("  Not shown: sign-ins of this application; --event-types '*' shows them too.");
          tell(`  subscription  ${id}, to ${url}`);
          tell(`  secret        ${secret}`);
          if (forwardTo !== undefined) tell(`  forwarded to  ${forwardTo}`);
          if (since !== undefined)
            await listenToFeed(listening, { secret, since, follow: false, skip: seen });
        },
      });
      tell('Stopped.');
    } catch (error) {
      if (!(error instanceof RefusedCall) || error.error !== 'invalid_request' || !/url/.test(error.message))
        throw error;
      tell(`The service sends nothing to this machine: ${error.message}`);
      await followFeed();
    }
  });
}

/** Prints what arrives: lines for people, one object a line with --json. */
function createReporter({ print, tell }: TerminalRuntime, json: boolean, forwarded: boolean) {
  return {
    show: ({ origin, ...shown }: Shown, event: Json): void => {
      const { at, deliveryId, eventType, attempt, refusal, answer } = shown;
      if (json) {
        const status = answer.status === 0 ? null : answer.status;
        const values = { event_type: eventType, delivery_id: deliveryId, attempt, status };
        print(JSON.stringify({ at: at.toISOString(), origin, ...values, refusal: refusal ?? null, event }));
      } else {
        const how = refusal === undefined ? describeAnswer(shown, forwarded) : `refused: ${refusal}`;
        const step = origin === 'feed' ? 'feed     ' : `attempt ${attempt}`;
        print(`${clockTime(at)}  ${eventType.padEnd(28)}  ${step}  ${how}`.trimEnd());
        print(`          ${event.event_id ?? 'no event'}  ${abridge(JSON.stringify(event.data ?? {}))}`);
      }
    },
    showAttempt: ({ workflow_url: url, next_attempt_at: next, status, last_error: error }: Json): void => {
      const words =
        status === 'delivered' || typeof next !== 'string'
          ? ''
          : `${status} (${error}), next attempt at ${clockTime(new Date(next))}  `;
      if (words === '' && typeof url !== 'string') return;
      const line = `          ${words}${typeof url === 'string' ? `history ${url}` : ''}`;
      if (json) tell(line.trim());
      else print(line.trimEnd());
    },
  };
}

function describeAnswer({ answer }: Pick<Shown, 'answer'>, forwarded: boolean): string {
  if (answer.status === 0) return '';
  if (answer.fault !== undefined) return `→ 502: the receiver did not answer (${answer.fault})`;
  return forwarded ? `→ ${answer.status}` : `verified → ${answer.status}`;
}

const MOST_SHOWN = 100;
const abridge = (text: string) => (text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN)}…` : text);

/** Sign-ins of this very application would be most of what is seen: each command of daily work makes one. */
function isOwnSignIn({ type, data }: Json, clientId: string): boolean {
  const isSignIn = type === 'auth.token.issued' || type === 'auth.login.success';
  return isSignIn && (data as Json | null | undefined)?.client_id === clientId;
}

function readPort(text: string): number {
  const port = Number(text);
  if (!/^\d{1,5}$/.test(text) || port > 65_535) throw new CommandFailure(`--port: ${text} is not a port`);
  return port;
}
