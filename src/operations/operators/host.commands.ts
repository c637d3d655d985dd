// `countersign operator host …`: parses options, calls the service, prints. With --json, stdout has only the answer.
import type { Command } from 'commander';
import { parseInput } from '../../platform/command-input.ts';
import { useServices } from '../../platform/command-services.ts';
import type { FailingHost, HostHold } from '../../webhooks/endpoints/host-hold.service.ts';
import { type HoldLength, wordErrors } from '../../webhooks/endpoints/host-hold.ts';
import type { HostResult } from './host.service.ts';
import { type IntentOptions, type OperatorRuntime, readIntent, withIntent } from './operator.commands.ts';
import { failingSchema, lengthSchema } from './operator.schemas.ts';

type HoldOptions = IntentOptions & { readonly until?: string; readonly for?: string };

/** Adds `host …` to `countersign operator`. */
export function registerHostCommands(operator: Command, runtime: OperatorRuntime): void {
  const { print } = runtime;
  const host = operator
    .command('host')
    .description(
      'hold the hosts of receivers, retry or cancel what waits for them, and see which fail, across all tenants',
    );
  const answer = (options: { json?: true }, object: object, lines: string[]) => {
    if (options.json) print(JSON.stringify(object));
    else for (const line of lines) print(line);
  };

  withIntent(
    host
      .command('hold')
      .description('send nothing to a host until it is released')
      .argument(...HOST),
  )
    .option('--until <time>', 'end by itself at this time (ISO 8601)')
    .option('--for <duration>', 'end by itself after so long: 90s, 30m, 12h, 7d')
    .action(async (name: string, options: HoldOptions) => {
      const intent = readIntent(options);
      const length = readLength(options);
      const held = await useServices(runtime.open, ({ hosts }) => hosts.hold(intent, name, length));
      answer(options, held, [`Nothing is sent to ${held.host} any more: ${sizeOf(held)}.`]);
    });

  withIntent(
    host
      .command('release')
      .description('send to a host again, the oldest deliveries first')
      .argument(...HOST),
  ).action(async (name: string, options: IntentOptions) => {
    const intent = readIntent(options);
    const released = await useServices(runtime.open, ({ hosts }) => hosts.release(intent, name));
    const line = released.changed
      ? `What has waited for ${released.host} goes out: ${sizeOf(released)}.`
      : `${released.host} was not held; nothing changed.`;
    answer(options, released, [line]);
  });

  withIntent(
    host
      .command('retry')
      .description('send the waiting deliveries of a host now, one endpoint’s deliveries after the other')
      .argument(...HOST),
  ).action(async (name: string, options: IntentOptions) => {
    const intent = readIntent(options);
    const retried = await useServices(runtime.open, ({ hosts }) => hosts.retry(intent, name));
    const line = retried.changed
      ? `What waits for ${retried.host} goes out: ${sizeOf(retried)}.`
      : `Nothing waits for ${retried.host}; nothing changed.`;
    answer(options, retried, [line]);
  });

  withIntent(
    host
      .command('cancel')
      .description('cancel the waiting deliveries of a host for good, however they wait')
      .argument(...HOST),
  )
    .option('--tenant <slug>', 'only those of this tenant')
    .action(async (name: string, options: IntentOptions & { readonly tenant?: string }) => {
      const intent = readIntent(options);
      const canceled = await useServices(runtime.open, ({ hosts }) => hosts.cancel(intent, name, options));
      const { host, deliveries } = canceled;
      const line = canceled.changed
        ? `${plural(deliveries, 'delivery', 'deliveries')} to ${host} canceled: ${sizeOf(canceled)}.`
        : `Nothing waits for ${host}; nothing changed.`;
      answer(options, canceled, [line]);
    });

  host
    .command('list')
    .description('list the hosts that are held, the oldest hold first')
    .option('--json', 'print the array only')
    .action(async (options: { json?: true }) => {
      const holds = await useServices(runtime.open, ({ hosts }) => hosts.list());
      answer(options, holds.map(describeHold), holds.map(lineOfHold));
    });

  host
    .command('failing')
    .description(
      'list the hosts whose endpoints fail, with all their errors, those with most endpoints first',
    )
    .option('--class <class>', 'only this class, as it stands before the colon of a code: tls, dns, http')
    .option('--limit <number>', 'how many lines', '50')
    .option('--json', 'print the array only')
    .action(async (options: { class?: string; limit: string; json?: true }) => {
      const names = { errorClass: '--class', limit: '--limit' };
      const input = { errorClass: options.class, limit: options.limit };
      const { errorClass, limit } = parseInput(failingSchema, input, names);
      const found = await useServices(runtime.open, ({ hosts }) => hosts.listFailing({ errorClass, limit }));
      answer(options, found.map(describeFailing), found.map(lineOfFailing));
    });
}

const HOST = ['<host>', 'a name or an address, for all its ports, or with a port: api.acme.com'] as const;

function readLength(options: HoldOptions): HoldLength {
  const names = { until: '--until', for: '--for' };
  const { until, for: seconds } = parseInput(lengthSchema, { until: options.until, for: options.for }, names);
  if (until !== undefined) return { until };
  return seconds === undefined ? 'released' : { seconds };
}

const plural = (count: number, noun: string, many = `${noun}s`) => `${count} ${count === 1 ? noun : many}`;

const sizeOf = ({ endpoints, tenants }: Pick<HostResult, 'endpoints' | 'tenants'>) =>
  `${plural(endpoints, 'endpoint')} of ${plural(tenants, 'tenant')}`;

const describeHold = ({ host, until, reason, operator, heldAt, endpoints, tenants }: HostHold) => ({
  host,
  until: until?.toISOString() ?? null,
  held_at: heldAt.toISOString(),
  operator,
  reason,
  endpoints,
  tenants,
});

const lineOfHold = (hold: HostHold) => {
  const { host, until, held_at, operator, reason } = describeHold(hold);
  return `${host}  since ${held_at}  until ${until ?? 'it is released'}  ${sizeOf(hold)}  ${operator}: ${reason}`;
};

const describeFailing = (found: FailingHost) => ({
  host: found.host,
  errors: found.errors,
  endpoints: found.endpoints,
  closed: found.closed,
  tenants: found.tenants,
  failing_since: found.failingSince.toISOString(),
});

const lineOfFailing = (found: FailingHost) =>
  `${found.host}  ${wordErrors(found.errors)}  ${sizeOf(found)}  since ${found.failingSince.toISOString()}`;
