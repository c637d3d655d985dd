// The options that every command of daily work has in common, and the tenant's interface that follows from them.
import type { Command } from 'commander';
import { type AccountChoice, findAccount } from './account.ts';
import type { TerminalRuntime } from './runtime.ts';
import { createTenantApi, type TenantApi } from './tenant-api.client.ts';

export type AccountOptions = AccountChoice & { readonly json?: true };

/** Adds `--tenant`, `--profile` and `--json`. */
export function withAccount(command: Command): Command {
  return command
    .option('--tenant <slug>', 'the tenant of the running stack, or a profile of this name')
    .option('--profile <name>', 'a profile; docs/command-line.md says where they are')
    .option('--json', 'print JSON only');
}

export async function openApi(runtime: TerminalRuntime, choice: AccountChoice): Promise<TenantApi> {
  return createTenantApi(await findAccount(runtime.env, choice));
}
