// The commands refuse what the routes refuse, in one line that names the option, before anything is opened.
import { Command } from 'commander';
import { expect, it } from 'vitest';
import { registerApplicationCommands } from '../../../src/identity/applications/application.commands.ts';
import { registerTenantCommands } from '../../../src/identity/tenants/tenant.commands.ts';

async function refusal(...args: string[]): Promise<string> {
  const program = new Command().exitOverride().configureOutput({ writeErr: () => undefined });
  const opened = () => Promise.reject(new Error('opened'));
  registerApplicationCommands(program.command('application'), { open: opened, print: () => undefined });
  registerTenantCommands(program.command('tenant'), { open: opened, print: () => undefined });
  return await program.parseAsync(args, { from: 'user' }).then(
    () => 'accepted',
    (error: Error) => error.message,
  );
}

it.each([
  [['application', 'create', ''], /^<name>: /],
  [['application', 'create', 'a\u0018'], /^<name>: must not contain control characters$/],
  [['application', 'create', 'x', '--audience', 'a b'], /^--audience: must not hold white space/],
  [['application', 'create', 'x', '--agent', 'seven'], /^--agent: /],
  [['tenant', 'create', 'x', '--name', 'a'.repeat(500)], /^--name: /],
  [['tenant', 'create', 'x', '--name', ''], /^--name: /],
  ...['', ' ', '1e3', '0x10', '-1', '1.5', '2592001', '99999999'].map((text): [string[], RegExp] => [
    ['application', 'rotate-secret', 'id', `--overlap=${text}`],
    /^--overlap: must be a whole number of seconds from 0 to 2592000$/,
  ]),
  [['application', 'create', 'x', '--audience', 'https://a.example'], /^opened$/],
  [['tenant', 'create', 'x', '--name', 'Acme'], /^opened$/],
  [['application', 'rotate-secret', 'id', '--overlap', '0'], /^opened$/],
])('%j: %s', async (args, message) => {
  const tenant = args[0] === 'application' ? ['--tenant', 'demo'] : [];
  const told = await refusal(...args, ...tenant);
  expect(told).toMatch(message);
  expect(told).not.toContain('\n');
});
