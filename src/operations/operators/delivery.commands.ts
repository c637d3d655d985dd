// `countersign operator delivery …`: one delivery of any tenant, for the operator who knows no credentials of the
// tenant.
import type { Command } from 'commander';
import { z } from 'zod';
import { parseInput } from '../../platform/command-input.ts';
import { useServices } from '../../platform/command-services.ts';
import { formatFields } from '../../platform/command-table.ts';
import { presentDelivery, presentDetails } from '../../webhooks/deliveries/delivery.schemas.ts';
import type { WorkflowPlace } from '../../webhooks/deliveries/delivery.ts';
import type { OperatedDeliveryService } from './operated-delivery.service.ts';
import { type IntentOptions, readIntent, withIntent } from './operator.commands.ts';

type Open = () => Promise<{
  operatedDeliveries: OperatedDeliveryService;
  workflows: WorkflowPlace;
  close: () => Promise<void>;
}>;

const idSchema = z.object({ id: z.guid('must be the id of a delivery') });

/** Adds `delivery show`, `delivery retry` and `delivery cancel`. */
export function registerOperatedDeliveryCommands(
  operator: Command,
  {
    open,
    print,
    columns: width,
  }: { open: Open; print: (line: string) => void; columns?: number | undefined },
): void {
  const delivery = operator
    .command('delivery')
    .description('show, retry and cancel one delivery of any tenant');

  delivery
    .command('show')
    .description('show it with its attempts and its body')
    .argument('<id>')
    .option('--json', 'print the object only')
    .action(async (text: string, options: { json?: true }) => {
      const id = readId(text);
      const found = await useServices(open, async ({ operatedDeliveries, workflows }) => {
        const { tenantId, delivery } = await operatedDeliveries.show(id);
        return { tenant_id: tenantId, ...presentDetails(delivery, workflows) };
      });
      if (options.json) return print(JSON.stringify(found));
      for (const line of formatFields(plain(found), { width, now: Date.now() })) print(line);
    });

  const registerChange = (verb: 'retry' | 'cancel', description: string, done: string) =>
    withIntent(delivery.command(verb).description(description).argument('<id>')).action(
      async (text: string, options: IntentOptions) => {
        const id = readId(text);
        const intent = readIntent(options);
        const { result, shown } = await useServices(open, async ({ operatedDeliveries, workflows }) => {
          const result = await operatedDeliveries[verb](intent, id);
          return { result, shown: presentDelivery(result.delivery, workflows) };
        });
        if (options.json)
          return print(JSON.stringify({ tenant_id: result.tenantId, changed: result.changed, ...shown }));
        print(
          `Delivery ${id} of tenant ${result.tenantId} ${result.changed ? done : 'was so already; nothing changed'}.`,
        );
      },
    );
  registerChange('retry', 'attempt it now; one that has ended begins anew', 'is attempted now');
  registerChange('cancel', 'begin no further attempt, for good', 'is canceled');
}

const readId = (id: string): string => parseInput(idSchema, { id }, { id: '<id>' }).id.toLowerCase();

/** Dates as the interface sends them. */
const plain = (value: object): Record<string, unknown> => JSON.parse(JSON.stringify(value));
