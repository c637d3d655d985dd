// `countersign agent|key|webhook|delivery|event|audit …`: list, show and the acts of each resource, as openapi.json has
// them.
import { setTimeout as pause } from 'node:timers/promises';
import type { Command } from 'commander';
import { type Column, formatFields, formatTable } from '../../platform/command-table.ts';
import { type AccountOptions, openApi, withAccount } from './account.ts';
import { type Act, type Field, loadOperations } from './resource-operations.ts';
import { findRowId, listRows } from './resource-rows.client.ts';
import { RESOURCES, type Resource } from './resources.ts';
import { CommandFailure, type TerminalRuntime, timeAgo } from './runtime.ts';
import type { Json, TenantApi } from './tenant-api.client.ts';

type Options = AccountOptions & Readonly<Record<string, unknown>> & { readonly agent?: string };

const DEFAULT_LIMIT = '20';
const MOST_LISTED = 10_000;
/** Milliseconds between two looks at a bulk replay. */
const EVERY_MS = 1_000;
/** In the path of what an agent has. */
const AGENT = '{agent_id}';
const VALUES = { text: ' <text>', number: ' <number>', ago: ' <duration>', yes: '' } as const;
const READERS = {
  text: (value: string) => value,
  number: readNumber,
  ago: (value: string, option: string) => timeAgo(value, option).toISOString(),
} as const;

/** Fills in `list`, `show` and the acts of one resource. @param name of the table */
export function registerResourceCommands(command: Command, name: string, runtime: TerminalRuntime): void {
  const resource = RESOURCES.find((each) => each.name === name);
  if (resource === undefined) throw new Error(`there is no resource ${name}`);
  const { filters, acts } = loadOperations(resource);
  addCommand(command, resource, { verb: 'list', description: 'list them, the newest first', fields: filters })
    .option('--limit <number>', 'how many', DEFAULT_LIMIT)
    .action((options: Options) => printList(resource, filters, options, runtime));
  addCommand(command, resource, { verb: 'show', description: 'show one with all its fields', fields: [] })
    .argument('<id>', argumentOf(resource))
    .action((text: string, options: Options) => printOne(resource, text, options, runtime));
  for (const act of acts)
    addCommand(command, resource, act)
      .argument('<id>', argumentOf(resource))
      .action((text: string, options: Options) => runAct(resource, act, text, options, runtime));
}

function addCommand(
  command: Command,
  { path }: Resource,
  { verb, description, fields }: Pick<Act, 'verb' | 'description' | 'fields'>,
): Command {
  const added = withAccount(command.command(verb).description(description));
  for (const { option, kind, description: meaning } of fields)
    added.option(
      `--${option}${VALUES[kind]}`,
      kind === 'ago' ? `${meaning} 90s, 10m, 12h or 7d ago` : meaning,
    );
  return path.includes(AGENT)
    ? added.requiredOption('--agent <id>', 'the agent: its id, a part of it, or its name')
    : added;
}

const argumentOf = ({ names, isFeed }: Resource) =>
  !isFeed ? ['its id, a unique beginning or end of it', ...names].join(', or its ') : 'its id';

async function printList(
  resource: Resource,
  filters: readonly Field[],
  options: Options,
  runtime: TerminalRuntime,
): Promise<void> {
  const { print, tell, columns: width } = runtime;
  const limit = readLimit(options.limit);
  const query = readFields(filters, options);
  const api = await openApi(runtime, options);
  const path = await pathOf(api, resource, options);
  const rows = await listRows(api, path, { limit, query }, resource);
  if (options.json) return print(JSON.stringify(rows));
  if (rows.length === 0) return tell('There is none.');
  for (const line of formatTable(resource.columns.map(columnOf), rows, { width, now: Date.now() }))
    print(line);
  if (rows.length === limit) tell(`There may be more: --limit ${limit * 5}`);
}

async function printOne(
  resource: Resource,
  text: string,
  options: Options,
  runtime: TerminalRuntime,
): Promise<void> {
  const { print, columns: width } = runtime;
  const api = await openApi(runtime, options);
  const { path } = await findRow(api, resource, text, options);
  const row = await api.call('GET', path);
  if (options.json) return print(JSON.stringify(row));
  for (const line of formatFields(row, { width, now: Date.now() })) print(line);
}

async function runAct(
  resource: Resource,
  { verb, method, path: below, fields, body }: Act,
  text: string,
  options: Options,
  runtime: TerminalRuntime,
): Promise<void> {
  const { print, columns: width } = runtime;
  const given = readFields(fields, options);
  const api = await openApi(runtime, options);
  const { id, path } = await findRow(api, resource, text, options);
  const sent = fields.length === 0 ? body : given;
  const answer = await api.call(method, `${path}${below}`, sent);
  if (options.json)
    return print(JSON.stringify(Object.keys(answer).length === 0 ? { [resource.columns[0]]: id } : answer));
  if (answer.dry_run === true) return print(`${answer.matched} would be sent again.`);
  if (typeof answer.replay_id === 'string')
    return followReplay(api, `${path}/replays/${answer.replay_id}`, answer, runtime);
  print(`${resource.name} ${id}: ${verb} is done.`);
  // What cannot be read later, and what leads on.
  const { secret, overlap_ends_at, delivery_id } = answer;
  const shown = Object.entries({ secret, overlap_ends_at, delivery_id }).filter(
    ([, value]) => value !== undefined,
  );
  if (shown.length > 0)
    for (const line of formatFields(Object.fromEntries(shown), { width, now: Date.now() }))
      print(`  ${line}`);
}

/** Follows a bulk replay until it has ended or Ctrl-C. @param path of it @param begun the answer that began it */
async function followReplay(
  api: Pick<TenantApi, 'call'>,
  path: string,
  begun: Json,
  { print, tell, interrupted }: Pick<TerminalRuntime, 'print' | 'tell' | 'interrupted'>,
): Promise<void> {
  const signal = interrupted();
  let shown = '';
  for (let replay = begun; ; replay = await api.call('GET', path)) {
    const line = `${replay.replayed} of ${replay.matched} are sent again`;
    if (replay.status !== 'running')
      return print(`${line}: ${replay.status}. ${wordOutcomes((replay.outcomes ?? {}) as Json, path)}`);
    if (line !== shown) tell(line);
    shown = line;
    const isOver = await pause(EVERY_MS, false, { signal }).catch(() => true);
    if (isOver) return print(`It goes on: GET ${path}`);
  }
}

/** What has become of those that were sent again; the path where more of them waits to be read. */
function wordOutcomes(outcomes: Json, path: string): string {
  const parts = Object.entries(outcomes).filter(([, value]) => value !== 0);
  const words = parts.map(([name, value]) => `${value} ${name === 'failed' ? 'failed again' : name}`);
  return `Of these: ${words.join(', ') || 'none'}.${outcomes.waiting === 0 ? '' : ` Later: GET ${path}`}`;
}

/** The path of the list; of keys, with the agent that `--agent` names. */
async function pathOf(api: TenantApi, { path }: Resource, { agent }: Options): Promise<string> {
  if (agent === undefined) return path;
  const agents = RESOURCES.find(({ name }) => name === 'agent') as Resource;
  return path.replace(AGENT, await findRowId(api, agents, agents.path, agent));
}

async function findRow(api: TenantApi, resource: Resource, text: string, options: Options) {
  const list = await pathOf(api, resource, options);
  const id = await findRowId(api, resource, list, text);
  return { id, path: `${list}/${encodeURIComponent(id)}` };
}

/** `endpoint.failing_since` is the column ENDPOINT FAILING SINCE, `created_at` the column CREATED. */
function columnOf(path: string, index: number): Column<Json> {
  const cell = (row: Json) =>
    path.split('.').reduce<unknown>((value, name) => (value as Json | null)?.[name], row);
  const heading = index === 0 ? 'id' : path.replace(/_at$/, '').replace(/[._]/g, ' ');
  return { heading, cell, ...(index === 0 ? { whole: true } : {}) };
}

/** The fields of the options that were given. @throws CommandFailure */
function readFields(fields: readonly Field[], options: Options): Record<string, string> & Json {
  const given = fields.flatMap(({ option, field, kind }): [string, unknown][] => {
    const value = options[option.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase())];
    if (kind === 'yes' || typeof value !== 'string') return value === undefined ? [] : [[field, value]];
    return [[field, READERS[kind](value, option)]];
  });
  return Object.fromEntries(given) as Record<string, string>;
}

function readNumber(text: string, option: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new CommandFailure(`--${option}: must be a whole number`);
  return Number(text);
}

function readLimit(value: unknown): number {
  const limit = readNumber(String(value), 'limit');
  if (limit < 1 || limit > MOST_LISTED) throw new CommandFailure(`--limit: must be 1 to ${MOST_LISTED}`);
  return limit;
}
