// The scenario of one refresh token that several requests use, while its family, its agent or its key ends.
import type { TokenAnswer } from '../../src/authentication/tokens/token-answer.ts';
import { claimsOf, issueFirst, refresh } from '../authentication/tokens/refresh-fixture.ts';
import { createTestAgent, type Rooms } from '../identity/agents/agent-rooms.ts';
import type { Schedule } from './scheduler.ts';
import { type Scenario, type Stage, succeeded, valueIn } from './stage.ts';

const USES = ['refresh', 'refresh again', 'refresh once more'];
const CHANGES = [
  'refresh once more',
  'use the spent token',
  'narrow',
  'suspend',
  'suspend and reactivate',
  'revoke the key',
  'remove',
] as const;
const ENDINGS = ['suspend', 'suspend and reactivate', 'revoke the key', 'remove', 'use the spent token'];

const ROWS = `
SELECT count(*)::int AS tokens, count(*) FILTER (WHERE revoked_at IS NULL AND used_at IS NULL)::int AS live,
  sum(cardinality(access_token_ids))::int AS issued,
  count(*) FILTER (WHERE used_at IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM refresh_tokens s WHERE s.id = t.successor_id))::int AS orphans,
  (SELECT count(*)::int FROM audit_log WHERE tenant_id = $2 AND action = 'auth.token.issued') AS recorded
FROM refresh_tokens t WHERE agent_id = $1`;

type Row = {
  readonly tokens: number;
  readonly live: number;
  readonly issued: number;
  readonly orphans: number;
  readonly recorded: number;
};

export const refreshing: Scenario = {
  name: 'rotation of a refresh token',
  refusals: ['invalid_grant', 'invalid_scope', 'not_found', 'conflict'],
  prepare: async (stage, random) => {
    const context = await stage.createTenant();
    const first = stage.rooms(0);
    const { agent, key } = await createTestAgent(first, context);
    if (random.chance(0.5))
      await stage.read.query('UPDATE subscriptions SET deleted_at = now() WHERE tenant_id = $1', [
        context.tenant.id,
      ]);
    const issued = await issueFirst(first, context, { agentId: agent.id, keyId: key.id });
    const spent = issued.refreshToken;
    const { refresh_token: token } = await refresh(first, context, spent);
    // Beyond the grace, the spent token is a stolen one.
    await stage.read.query(
      "UPDATE refresh_tokens SET used_at = used_at - interval '1 minute' WHERE agent_id = $1 AND used_at IS NOT NULL",
      [agent.id],
    );
    const acts: Record<(typeof CHANGES)[number], (rooms: Rooms) => Promise<unknown>> = {
      'refresh once more': (rooms) => refresh(rooms, context, token),
      // It is refused, and ends the family.
      'use the spent token': (rooms) =>
        refresh(rooms, context, spent).catch((error: { code?: string }) => {
          if (error.code !== 'invalid_grant') throw error;
        }),
      narrow: (rooms) => rooms.agents.update(context, agent.id, { scopes: ['email'] }),
      suspend: (rooms) => rooms.agents.suspend(context, agent.id),
      'suspend and reactivate': async (rooms) => {
        await rooms.agents.suspend(context, agent.id);
        return rooms.agents.reactivate(context, agent.id);
      },
      'revoke the key': (rooms) => rooms.keys.revoke(context, agent.id, key.id),
      remove: (rooms) => rooms.agents.remove(context, agent.id),
    };
    const changes = random.some(CHANGES, 1 + random.below(2));
    const units = [
      { name: 'refresh', process: 0, act: () => refresh(stage.rooms(0), context, token) },
      { name: 'refresh again', process: 1, act: () => refresh(stage.rooms(1), context, token) },
      ...changes.map((name, n) => ({ name, process: 2 + n, act: () => acts[name](stage.rooms(2 + n)) })),
    ];
    return { units, check: (schedule) => check(stage, schedule, { context, agentId: agent.id }) };
  },
};

async function check(
  stage: Stage,
  schedule: Schedule,
  { context, agentId }: { context: Parameters<typeof refresh>[1]; agentId: string },
): Promise<string[]> {
  const answers = USES.flatMap((name) => valueIn<TokenAnswer>(schedule, name) ?? []);
  const successors = new Set(answers.map(({ refresh_token: text }) => text));
  const ended = ENDINGS.filter((name) => succeeded(schedule, name));
  const isLost = USES.includes(schedule.faulted ?? '');
  const violations = successors.size > 1 ? ['two successors'] : [];
  if (ended.length > 0)
    for (const { access_token: text } of answers) {
      const code = await codeOf(stage.rooms(3).tokens.verifyAccessToken(context.tenant, text));
      if (code !== 'token_revoked')
        violations.push(`${String(claimsOf(text).jti)} is ${code} after ${ended}`);
    }
  const { rows } = await stage.read.query<Row>(ROWS, [agentId, context.tenant.id]);
  const [row] = rows;
  if (row === undefined) throw new Error('no family');
  const { tokens, live, issued, orphans, recorded } = row;
  const faults = {
    [`${live} live tokens`]: live > 1,
    [`a live token after ${ended}`]: ended.length > 0 && live > 0,
    [`${tokens} tokens of a family`]: tokens > 3,
    'an answer without a successor': answers.length > 0 && tokens < 3,
    'a used token without a successor': orphans > 0,
    [`${issued} access tokens, ${answers.length} answers`]: !isLost && issued !== 2 + answers.length,
    // The first pair comes of the fixture, which writes no record.
    [`${issued} access tokens, ${recorded} records`]: recorded !== issued - 1,
  };
  return [...violations, ...Object.entries(faults).flatMap(([fault, isSo]) => (isSo ? [fault] : []))];
}

const codeOf = (work: Promise<unknown>): Promise<string | undefined> =>
  work.then(
    () => 'accepted',
    (error: { code?: string }) => error.code,
  );
