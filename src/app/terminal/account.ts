// Finds the service and the credentials that a command of daily work uses: of a profile, the environment, or the stack
// that runs in this folder.
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Command } from 'commander';
import { isObject, parseJson } from '../../platform/json-values.ts';
import type { Environment } from '../roles.ts';
import { createTokenKeeper } from './kept-token.ts';
import { CommandFailure, type TerminalRuntime } from './runtime.ts';
import { createTenantApi, type TenantApi } from './tenant-api.client.ts';

/** An application of a tenant. `source` says where it was found, for people. */
export type Account = {
  readonly baseUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly source: string;
};

export type AccountChoice = { readonly tenant?: string | undefined; readonly profile?: string | undefined };

const VARIABLES = ['COUNTERSIGN_URL', 'COUNTERSIGN_CLIENT_ID', 'COUNTERSIGN_CLIENT_SECRET'] as const;
/** Permissions of others on a file with secrets. */
const OPEN_TO_OTHERS = 0o077;

/**
 * Finds the account in this order: `--profile` or COUNTERSIGN_PROFILE, the variables COUNTERSIGN_URL and so on, the
 * demo tenant of the running stack, the profile `default`. With `tenant` it is the account of that tenant.
 * @throws CommandFailure that says how to supply one
 */
export async function findAccount(
  env: Environment,
  { tenant, profile = env.COUNTERSIGN_PROFILE || undefined }: AccountChoice = {},
): Promise<Account> {
  if (profile !== undefined) return readProfile(env, profile);
  const given = VARIABLES.filter((name) => env[name]);
  if (given.length > 0 && tenant === undefined) return readVariables(env, given);
  const demo = await readDemoTenant(env);
  if (demo !== undefined && (tenant === undefined || tenant === demo.slug)) return demo;
  const profiles = await readProfiles(env);
  const name = tenant ?? 'default';
  if (profiles !== undefined && Object.hasOwn(profiles, name)) return readProfile(env, name);
  throw new CommandFailure(describeAbsence(env, tenant, demo?.slug));
}

/** The file with the profiles: `{"<name>": {"url", "client_id", "client_secret"}}`. */
export function profilesFile(env: Environment): string {
  const folder = env.XDG_CONFIG_HOME || join(env.HOME || '.', '.config');
  return join(folder, 'countersign', 'profiles.json');
}

function readVariables(env: Environment, given: readonly string[]): Account {
  const missing = VARIABLES.filter((name) => !given.includes(name));
  if (missing.length > 0)
    throw new CommandFailure(
      `${given.join(' and ')} is set, and ${missing.join(' and ')} is not: set all three.`,
    );
  const [url = '', clientId = '', clientSecret = ''] = VARIABLES.map((name) => env[name]);
  return { baseUrl: readUrl(url, 'COUNTERSIGN_URL'), clientId, clientSecret, source: 'the environment' };
}

async function readDemoTenant(env: Environment): Promise<(Account & { slug: string }) | undefined> {
  const file = join(env.DATA_DIR || '.data', 'demo-tenant.json');
  const found = await readJson(file);
  if (found === undefined) return undefined;
  const { base_url: baseUrl, client_id: clientId, client_secret: clientSecret, slug } = found;
  if (![baseUrl, clientId, clientSecret, slug].every((value) => typeof value === 'string'))
    throw new CommandFailure(`${file} has no credentials: npm start writes it anew.`);
  return { slug, baseUrl, clientId, clientSecret, source: file } as Account & { slug: string };
}

async function readProfile(env: Environment, name: string): Promise<Account> {
  const file = profilesFile(env);
  const profiles = (await readProfiles(env)) ?? {};
  const found = Object.hasOwn(profiles, name) ? profiles[name] : undefined;
  if (!isObject(found))
    throw new CommandFailure(
      `There is no profile "${name}" in ${file}${Object.keys(profiles).length === 0 ? '' : `; known: ${Object.keys(profiles).join(', ')}`}.`,
    );
  const { url, client_id: clientId, client_secret: clientSecret } = found;
  if (typeof url !== 'string' || typeof clientId !== 'string' || typeof clientSecret !== 'string')
    throw new CommandFailure(`The profile "${name}" in ${file} needs url, client_id and client_secret.`);
  return { baseUrl: readUrl(url, `${file}: url`), clientId, clientSecret, source: `the profile ${name}` };
}

async function readProfiles(env: Environment): Promise<Readonly<Record<string, unknown>> | undefined> {
  const file = profilesFile(env);
  const profiles = await readJson(file);
  if (profiles !== undefined && ((await stat(file)).mode & OPEN_TO_OTHERS) !== 0)
    throw new CommandFailure(`${file} has secrets and may be read by others: chmod 600 ${file}`);
  return profiles;
}

async function readJson(file: string): Promise<Readonly<Record<string, unknown>> | undefined> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined;
    throw new CommandFailure(`${file} cannot be read: ${error.message}`);
  });
  if (text === undefined) return undefined;
  const value = parseJson(text);
  if (isObject(value)) return value;
  // The text has secrets.
  throw new CommandFailure(`${file} is not a JSON object.`);
}

function readUrl(text: string, name: string): string {
  if (!URL.canParse(text)) throw new CommandFailure(`${name} is not a URL: ${text}`);
  return text.endsWith('/') ? text.slice(0, -1) : text;
}

function describeAbsence(env: Environment, tenant: string | undefined, demo: string | undefined): string {
  const file = profilesFile(env);
  if (tenant !== undefined)
    return `There are no credentials for the tenant "${tenant}"${demo === undefined ? '' : ` (the stack here has those of ${demo})`}: put {"${tenant}": {"url", "client_id", "client_secret"}} into ${file}, mode 0600.`;
  return [
    'No service to talk to. One of these:',
    '  npm start, in this folder',
    `  ${VARIABLES.join(', ')} in the environment`,
    `  {"default": {"url", "client_id", "client_secret"}} in ${file}, mode 0600`,
  ].join('\n');
}

export type AccountOptions = AccountChoice & { readonly json?: true };

/** Adds `--tenant`, `--profile` and `--json`. */
export function withAccount(command: Command): Command {
  return command
    .option('--tenant <slug>', 'the tenant of the running stack, or a profile of this name')
    .option('--profile <name>', 'a profile; docs/command-line.md says where they are')
    .option('--json', 'print JSON only');
}

export async function openApi(runtime: TerminalRuntime, choice: AccountChoice): Promise<TenantApi> {
  const account = await findAccount(runtime.env, choice);
  return createTenantApi(account, createTokenKeeper(runtime.env, account));
}
