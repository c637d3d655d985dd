// `countersign standing`: whether all is right, in the words of the console. Ends with 1 when somebody has to look.
import type { Command } from 'commander';
import { formatTable } from '../../platform/command-table.ts';
import { type AccountOptions, openApi, withAccount } from './account.ts';
import type { TerminalRuntime } from './runtime.ts';
import type { Json } from './tenant-api.client.ts';

const URGENT: readonly unknown[] = ['critical', 'warning'];
const columnsOf = (names: readonly string[]) =>
  names.map((name) => ({
    heading: name.replace(/_at$/, '').replaceAll('_', ' '),
    cell: (row: Json) => row[name],
  }));
const STATES = columnsOf([
  'state',
  'severity',
  'subscriptions',
  'waiting',
  'oldest_waiting_at',
  'oldest_canceled_at',
]);
const FAILED = columnsOf(['deliveries', 'answer', 'url', 'first_at', 'last_at', 'subscription_id']);

/** Fills in `standing`. */
export function registerStandingCommand(standing: Command, runtime: TerminalRuntime): void {
  withAccount(standing).action(async (options: AccountOptions) => {
    const { print, fail, columns: width } = runtime;
    const api = await openApi(runtime, options);
    const answer = await api.call('GET', '/api/v1/standing');
    if (options.json) print(JSON.stringify(answer));
    else {
      const table = (columns: typeof STATES, rows: unknown) =>
        (rows as Json[]).length === 0
          ? []
          : ['', ...formatTable(columns, rows as Json[], { width, now: Date.now() })];
      const { largest, deliveries } = answer.failed_in_24_hours as Json;
      print(String(answer.summary));
      for (const line of table(STATES, answer.states)) print(line);
      if (deliveries !== 0) print(`\nFailed for good in 24 hours: ${deliveries}`);
      for (const line of table(FAILED, largest)) print(line);
    }
    if (URGENT.includes(answer.severity)) fail(1);
  });
}
