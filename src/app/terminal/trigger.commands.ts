// `countersign trigger <type>`: publishes an event, by default the example of the catalogue.
import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { findNearest } from '../../platform/errors/issue-words.ts';
import { JsonError, parseStrictJson } from '../../platform/http/strict-json.ts';
import { isObject } from '../../platform/json-values.ts';
import { type AccountOptions, openApi, withAccount } from './account.ts';
import { findListening } from './listening.ts';
import { CommandFailure, type TerminalRuntime } from './runtime.ts';
import type { Json, TenantApi } from './tenant-api.client.ts';

type Options = AccountOptions & {
  readonly data?: string;
  readonly eventId?: string;
  readonly webhook?: string;
};

type CatalogueType = {
  readonly type: string;
  readonly reserved: boolean;
  readonly example: { readonly data: Json };
};

const EXAMPLES = `
Examples:
  countersign trigger orders.order.placed --data '{"order": 1}'
  countersign trigger orders.order.placed --data @order.json
  countersign trigger wallet.tx.signed`;

/** Fills in `trigger`. */
export function registerTriggerCommand(trigger: Command, runtime: TerminalRuntime): void {
  withAccount(
    trigger
      .argument('<type>', 'an event type of the catalogue, or of your own such as orders.order.placed')
      .option('--data <json>', 'the data: JSON, @file, or - for stdin; the example of the type unless given')
      .option('--event-id <text>', 'the id of the event; a repeated one is published once')
      .option('--webhook <id>', 'send the example to this subscription only, as a test')
      .addHelpText('after', EXAMPLES),
  ).action(async (type: string, options: Options) => {
    const { print } = runtime;
    const data = options.data === undefined ? undefined : await readData(options.data, runtime);
    const api = await openApi(runtime, options);
    const { data: catalogue } = (await api.call('GET', '/api/v1/event-types')) as unknown as {
      data: CatalogueType[];
    };
    const known = catalogue.find((entry) => entry.type === type);
    if (options.webhook !== undefined || (known?.reserved === true && data === undefined)) {
      const sent = await sendTests(api, type, options.webhook);
      if (sent.length === 0) throw new CommandFailure(refuseReserved(type, catalogue));
      if (options.json) return print(JSON.stringify({ type, test: true, deliveries: sent }));
      print(`${type}: only the service emits it, so its example was sent as a test to`);
      for (const { subscription_id, delivery_id } of sent)
        print(`  ${subscription_id}, delivery ${delivery_id}`);
      return;
    }
    if (known?.reserved === true) throw new CommandFailure(refuseReserved(type, catalogue));
    if (known === undefined && data === undefined) refuseMistyped(type, catalogue);
    const answer = await api.call('POST', '/api/v1/events', {
      type,
      data: data ?? known?.example.data ?? {},
      ...(options.eventId === undefined ? {} : { event_id: options.eventId }),
    });
    if (options.json) return print(JSON.stringify({ type, test: false, ...answer }));
    print(`${type}: event ${answer.event_id}, ${count(Number(answer.deliveries))}`);
  });
}

/** Sends the example to one subscription, or to all that `countersign listen` has made. */
async function sendTests(
  api: TenantApi,
  type: string,
  webhook: string | undefined,
): Promise<{ subscription_id: string; delivery_id: string }[]> {
  const targets = webhook === undefined ? (await findListening(api)).map(({ id }) => id) : [webhook];
  const sent = [];
  for (const id of targets) {
    const { delivery_id } = await api.call('POST', `/api/v1/webhooks/${id}/test`, { event_type: type });
    sent.push({ subscription_id: id, delivery_id: String(delivery_id) });
  }
  return sent;
}

function refuseReserved(type: string, catalogue: readonly CatalogueType[]): string {
  const own = catalogue.filter(({ reserved }) => !reserved).map((entry) => entry.type);
  return [
    `${type} says what the service did, so only the service emits it.`,
    '  --webhook <id> sends its example to one subscription as a test; so does a running countersign listen.',
    `  To publish: a type of your own, such as orders.order.placed, or ${own.slice(0, 8).join(', ')} …`,
  ].join('\n');
}

/** A type of one's own needs no registration, so one that is nearly a type of the catalogue needs to be said. */
function refuseMistyped(type: string, catalogue: readonly CatalogueType[]): void {
  const nearest = findNearest(
    type,
    catalogue.map((entry) => entry.type),
  );
  if (nearest !== undefined)
    throw new CommandFailure(
      `${type} is not in the catalogue. Did you mean ${nearest}? With --data it is published as a type of your own.`,
    );
}

async function readData(text: string, { readInput }: TerminalRuntime): Promise<Json> {
  const json =
    text === '-'
      ? String(await readInput())
      : text.startsWith('@')
        ? await readFile(text.slice(1), 'utf8')
        : text;
  try {
    const value = parseStrictJson(json);
    if (isObject(value)) return value;
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    throw new CommandFailure(`--data: ${error.path} ${error.message}`.replace('  ', ' '));
  }
  throw new CommandFailure('--data: must be a JSON object');
}

const count = (deliveries: number) =>
  deliveries === 0
    ? 'no subscription gets it'
    : `${deliveries} ${deliveries === 1 ? 'delivery' : 'deliveries'}`;
