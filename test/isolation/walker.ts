// Tries with a stranger's token to reach a tenant's rows by one route, and tells what should not have happened.
import { createCursors } from '../../src/platform/database/page.ts';
import type { Route } from '../../src/platform/http/route.ts';
import { ISSUER_CHECKS } from './issuer-checks.ts';
import { collectionsOf, fillBody, fillList, fillPath, makeAgent, namesRowInQuery } from './rows.ts';
import type { Answer, Party } from './tenants-server.ts';

type Parties = { readonly owner: Party; readonly stranger: Party };

/** All that a try needs, made before it, so that whatever changes afterwards is the try's doing. */
type Prepared = {
  readonly path: string;
  readonly body: unknown;
  /** The owner's path again, and each in which some of the rows are the stranger's. */
  readonly foreignPaths: readonly string[];
  readonly strangersPath: string;
  readonly strangersBody: unknown;
  /** Queries that ask for what is the owner's. */
  readonly queries: readonly string[];
  /** Every id of the owner. */
  readonly ids: readonly string[];
};

/** What every tenant is told alike. */
const SAME_FOR_ALL = new Set(['listEventTypes', 'getEventType']);

/** What tells numbers only, and names no row: that they are the tenant's own is a test of its room. */
const NAMES_NOTHING = new Set([
  'listDeliveryAccounts',
  'listDeliveryHours',
  'countAuditHours',
  'forgetUser',
  'getStanding',
]);

/** Its body names a key of the owner by the thumbprint. */
const NAMES_OTHERWISE = new Set(['depositDirectorySignature']);

/**
 * @returns what should not have happened, in words; nothing when the route keeps tenants apart
 * @throws Error for a route that it does not know how to call: nobody may add one without saying how it is to be tried
 */
export async function tryRoute(route: Route, parties: Parties): Promise<string[]> {
  if (route.scope === null) {
    const check = ISSUER_CHECKS[route.operationId];
    if (check === undefined) throw new Error(`what ${route.operationId} must refuse is not known`);
    return check(parties);
  }
  const { owner } = parties;
  const prepared = await prepare(route, parties);
  const before = await owner.countChanges();
  const found = [
    ...(await tryOwnersAddress(route, prepared, parties)),
    ...(await tryForeignPaths(route, prepared, parties)),
    ...(await tryForeignBody(route, prepared, parties)),
    ...(await tryQueries(prepared, parties)),
  ];
  if ((await owner.countChanges()) !== before) found.push("changed something of the owner's");
  return [...found, ...(await tryAsOwner(route, prepared, parties))];
}

async function prepare(route: Route, { owner, stranger }: Parties): Promise<Prepared> {
  const count = collectionsOf(route).length;
  const pathOf = (owners: readonly Party[], party = owner) => fillPath(route, owners, party);
  const path = await pathOf(Array.from({ length: count }, () => owner));
  await fillList(route, path, owner);
  const body = await fillBody(route, owner, path);
  const isOwners = (count > 0 && !SAME_FOR_ALL.has(route.operationId)) || namesRowInQuery(route);
  const foreignPaths = isOwners ? [path] : [];
  for (let mask = 1; mask < 2 ** count - 1; mask += 1)
    foreignPaths.push(
      await pathOf(Array.from({ length: count }, (_, place) => (mask & (1 << place) ? stranger : owner))),
    );
  const agentId = await makeAgent(owner);
  const strangersPath = await pathOf(
    Array.from({ length: count }, () => stranger),
    stranger,
  );
  const hasList = count === 0 && route.method === 'GET' && !namesRowInQuery(route);
  const names = hasList ? Object.keys(route.request?.query?.shape ?? {}) : [];
  return {
    path,
    body,
    foreignPaths,
    strangersPath,
    strangersBody: await fillBody(route, stranger, strangersPath),
    queries: names.flatMap((name) => {
      if (name.endsWith('_id')) return [`${name}=${agentId}`];
      if (name === 'cursor') return [`cursor=${createCursors(route.path).encode(agentId)}`];
      return name === 'limit' ? ['limit=200'] : [];
    }),
    ids: await owner.ids(),
  };
}

async function tryOwnersAddress(
  { method }: Route,
  { path, body }: Prepared,
  { owner, stranger }: Parties,
): Promise<string[]> {
  const answer = await owner.send(method, path, body, stranger.token);
  return answer.status === 401 ? [] : [`took a stranger's token: ${describe(answer)}`];
}

async function tryForeignPaths(
  { method }: Route,
  { foreignPaths, strangersBody, ids }: Prepared,
  { stranger }: Parties,
): Promise<string[]> {
  const found: string[] = [];
  for (const path of foreignPaths) {
    const answer = await stranger.send(method, path, strangersBody);
    if (answer.status !== 404) found.push(`found the owner's rows at ${path}: ${describe(answer)}`);
    found.push(...leaks(answer, ids));
  }
  return found;
}

/** The stranger's own path, with a body that names the owner's rows, if it names any. */
async function tryForeignBody(
  { method, operationId }: Route,
  { strangersPath, body, ids }: Prepared,
  { stranger }: Parties,
): Promise<string[]> {
  const text = JSON.stringify(body) ?? '';
  const namesRows = NAMES_OTHERWISE.has(operationId) || ids.some((id) => text.includes(id));
  const answer = await stranger.send(method, strangersPath, body);
  const found = leaks(answer, ids);
  if (namesRows && (answer.status < 400 || answer.status >= 500))
    found.push(`took a body that names the owner's rows: ${describe(answer)}`);
  if (!namesRows && answer.status >= 300) found.push(`refused the stranger's own: ${describe(answer)}`);
  return found;
}

async function tryQueries(
  { strangersPath, queries, ids }: Prepared,
  { stranger }: Parties,
): Promise<string[]> {
  const found: string[] = [];
  for (const query of queries) {
    const answer = await stranger.send('GET', `${strangersPath}?${query}`);
    // A list of something else than rows with ids has cursors of its own.
    const isOther = query.startsWith('cursor') && answer.status === 400;
    if (answer.status !== 200 && !isOther) found.push(`refused ?${query}: ${describe(answer)}`);
    found.push(...leaks(answer, ids));
  }
  return found;
}

/** Otherwise all refusals before could be about something else. */
async function tryAsOwner(
  { method, operationId }: Route,
  { path, body, ids }: Prepared,
  { owner }: Parties,
): Promise<string[]> {
  const answer = await owner.send(method, path, body);
  if (answer.status >= 300) return [`refused the owner: ${describe(answer)}`];
  const mayBeSilent = SAME_FOR_ALL.has(operationId) || NAMES_NOTHING.has(operationId);
  const isSilent = method === 'GET' && !mayBeSilent && leaks(answer, ids).length === 0;
  return isSilent ? [`told the owner nothing of his own: ${describe(answer)}`] : [];
}

/** What an answer says of the owner's. */
function leaks({ text }: Answer, ids: readonly string[]): string[] {
  return ids.filter((id) => text.includes(id)).map((id) => `told ${id}: ${text.slice(0, 200)}`);
}

function describe({ status, text }: Answer): string {
  return `${status} ${text.slice(0, 200)}`;
}
