// `countersign user forget`: forgets a user for ever, over the HTTP interface.
import type { Command } from 'commander';
import { type AccountOptions, openApi, withAccount } from './account.ts';
import type { TerminalRuntime } from './runtime.ts';

type Options = AccountOptions & { readonly issuer: string; readonly sub: string };

/** Fills in `user`. */
export function registerUserCommands(user: Command, runtime: TerminalRuntime): void {
  withAccount(
    user
      .command('forget')
      .description('destroy the key of a user: name and addresses are unreadable for ever')
      .requiredOption('--issuer <url>', "who names the user: `iss` of the user's tokens")
      .requiredOption('--sub <text>', 'the user, as the issuer names him'),
  ).action(async (options: Options) => {
    const { issuer, sub } = options;
    const api = await openApi(runtime, options);
    const answer = await api.call('POST', '/api/v1/users/forget', { subject: { issuer, sub } });
    if (options.json) return runtime.print(JSON.stringify(answer));
    const { forgotten, user_id, revoked_delegations } = answer;
    runtime.print(
      forgotten === true
        ? `User ${user_id} is forgotten; delegations revoked: ${revoked_delegations}.`
        : 'Nobody of this name is known.',
    );
  });
}
