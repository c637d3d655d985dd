// Who accepts a token after a change: a process that asks the database, and a resource server that has just started.
import { createRevocationBook, ENDING_TYPES } from '../../packages/resource-server/src/revocation-book.ts';
import type { RequestContext } from '../../src/platform/context.ts';
import type { Database } from '../../src/platform/database/database.ts';
import type { EndingRooms } from './endings.ts';
import { claimsOf, codeOf } from './tokens/refresh-fixture.ts';

const DAY = 86_400;

/** A resource server that has read all events of a tenant until now, as one that starts. */
export async function startGuard(database: Pick<Database, 'query'>, tenantId: string) {
  const { rows } = await database.query<{
    type: string;
    body: { occurred_at: string; data: Record<string, unknown> };
  }>(
    `SELECT type, convert_from(body, 'UTF8')::jsonb AS body FROM events WHERE tenant_id = $1 AND type = ANY ($2) ORDER BY id`,
    [tenantId, ENDING_TYPES],
  );
  const book = createRevocationBook({ longestTokenSeconds: DAY, limit: 100_000 });
  for (const { type, body } of rows)
    book.add({ type, occurredAt: Date.parse(body.occurred_at), data: body.data }, Date.now());
  return {
    accepts: (token: string): boolean => {
      const header = JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString());
      return !book.hasEnded({ header, claims: claimsOf(token) as never }, Date.now());
    },
  };
}

export type Acceptor = 'the database' | 'a guard';

/** Says who accepts a token: a process that asks the database, and a resource server. */
export async function acceptorsOf(
  token: string,
  {
    asked,
    tenant,
    guard,
  }: { asked: EndingRooms; tenant: RequestContext['tenant']; guard: Awaited<ReturnType<typeof startGuard>> },
): Promise<Acceptor[]> {
  const code = await codeOf(asked.tokens.verifyAccessToken(tenant, token));
  if (code !== 'accepted' && code !== 'token_revoked') throw new Error(`the token is ${code}`);
  const both: [Acceptor, boolean][] = [
    ['the database', code === 'accepted'],
    ['a guard', guard.accepts(token)],
  ];
  return both.flatMap(([acceptor, accepts]) => (accepts ? [acceptor] : []));
}
