// `countersign token`: prints an access token of the account, for use in one's own requests.
import type { Command } from 'commander';
import { type AccountOptions, openApi, withAccount } from './account.ts';
import type { TerminalRuntime } from './runtime.ts';

/** Fills in `token`. */
export function registerTokenCommand(token: Command, runtime: TerminalRuntime): void {
  withAccount(
    token.option('--scope <scopes...>', "what it is for; all of the application's scopes unless given"),
  ).action(async (options: AccountOptions & { scope?: string[] }) => {
    const api = await openApi(runtime, options);
    const answer = await api.requestToken(options.scope?.join(' '));
    runtime.print(options.json ? JSON.stringify(answer) : String(answer.access_token));
  });
}
