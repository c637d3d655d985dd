// The scenario of one challenge that is used twice, while its agent or its key changes.
import type { AgentTokens } from '../../src/authentication/challenges/challenge.service.ts';
import { answer, ask } from '../authentication/challenges/answer.ts';
import { createTestAgent, type Rooms } from '../identity/agents/agent-rooms.ts';
import { newKeyPair } from '../identity/keys/rotation-case.ts';
import type { Schedule } from './scheduler.ts';
import { compareCounts, type Scenario, type Stage, succeeded, valueIn } from './stage.ts';

const USES = ['redeem', 'redeem again', 'redeem another'];
const CHANGES = [
  'suspend',
  'suspend and reactivate',
  'revoke the key',
  'deprecate the key',
  'remove',
  'narrow',
  'begin a rotation',
  'redeem another',
] as const;
/** After one of these no token of the agent is live. A suspension may have come before a reactivation. */
const ENDINGS = ['revoke the key', 'remove'];

const ROWS = `
SELECT (SELECT count(*)::int FROM challenges WHERE agent_id = $1 AND consumed_at IS NOT NULL) AS consumed,
  (SELECT count(*)::int FROM refresh_tokens WHERE agent_id = $1) AS "refresh tokens",
  (SELECT count(*)::int FROM refresh_tokens WHERE agent_id = $1 AND revoked_at IS NULL) AS "live refresh tokens",
  (SELECT count(*)::int FROM audit_log WHERE tenant_id = $2 AND action = 'auth.login.success') AS logins,
  (SELECT count(*)::int FROM audit_log WHERE tenant_id = $2 AND action = 'auth.token.issued') AS "issued tokens",
  (SELECT count(*)::int FROM audit_log WHERE tenant_id = $2 AND action = 'agent.key.verified') AS "verified keys",
  (SELECT count(*)::int FROM events WHERE tenant_id = $2 AND type = 'auth.login.success') AS "login events"`;

export const redemption: Scenario = {
  name: 'redemption of a challenge',
  refusals: [
    'challenge_used',
    'key_revoked',
    'key_not_found',
    'policy_denied',
    'invalid_scope',
    'invalid_grant',
    'conflict',
    'not_found',
  ],
  prepare: async (stage, random) => {
    const context = await stage.createTenant();
    const first = stage.rooms(0);
    const signer = await createTestAgent(first, context);
    const { agent, key } = signer;
    const isHeard = random.chance(0.5);
    if (!isHeard)
      await stage.read.query('UPDATE subscriptions SET deleted_at = now() WHERE tenant_id = $1', [
        context.tenant.id,
      ]);
    const [input, another] = [
      answer(await ask(first, context, signer.fingerprint), signer),
      answer(await ask(first, context, signer.fingerprint), signer),
    ];
    const acts: Record<(typeof CHANGES)[number], (rooms: Rooms) => Promise<unknown>> = {
      suspend: (rooms) => rooms.agents.suspend(context, agent.id),
      'suspend and reactivate': async (rooms) => {
        await rooms.agents.suspend(context, agent.id);
        return rooms.agents.reactivate(context, agent.id);
      },
      'revoke the key': (rooms) => rooms.keys.revoke(context, agent.id, key.id),
      'deprecate the key': (rooms) =>
        rooms.keys.deprecate(context, agent.id, key.id, { sunsetAfterSeconds: 600 }),
      remove: (rooms) => rooms.agents.remove(context, agent.id),
      narrow: (rooms) => rooms.agents.update(context, agent.id, { scopes: ['email'] }),
      'begin a rotation': (rooms) =>
        rooms.rotations.begin(context, agent.id, { oldKeyId: key.id, ...newKeyPair() }),
      'redeem another': (rooms) => rooms.challenges.verify(context, another),
    };
    const changes = random.some(CHANGES, 1 + random.below(2));
    const units = [
      { name: 'redeem', process: 0, act: () => first.challenges.verify(context, input) },
      { name: 'redeem again', process: 1, act: () => stage.rooms(1).challenges.verify(context, input) },
      ...changes.map((name, n) => ({ name, process: 2 + n, act: () => acts[name](stage.rooms(2 + n)) })),
    ];
    return { units, check: (schedule) => check(stage, schedule, { context, agentId: agent.id, isHeard }) };
  },
};

async function check(
  stage: Stage,
  schedule: Schedule,
  { context, agentId, isHeard }: { context: Parameters<typeof ask>[1]; agentId: string; isHeard: boolean },
): Promise<string[]> {
  const { rows } = await stage.read.query<{ consumed: number; status: string }>(
    `SELECT (SELECT count(consumed_at)::int FROM challenges WHERE agent_id = $1) AS consumed,
       (SELECT status FROM agents WHERE id = $1) AS status`,
    [agentId],
  );
  const consumed = rows[0]?.consumed ?? 0;
  const answers = USES.flatMap((name) => valueIn<AgentTokens>(schedule, name) ?? []);
  const isLost = schedule.faulted !== undefined && USES.includes(schedule.faulted);
  const violations = [
    ...(succeeded(schedule, 'redeem') && succeeded(schedule, 'redeem again') ? ['two answers'] : []),
    ...(answers.length === consumed || (isLost && answers.length < consumed)
      ? []
      : [`${consumed} consumed, ${answers.length} answered`]),
  ];
  const reactivation = 'suspend and reactivate';
  // One that loses its connection by the last COMMIT fails, and the agent is active all the same.
  const isReactivated =
    succeeded(schedule, reactivation) || (schedule.faulted === reactivation && rows[0]?.status === 'active');
  const isEnded =
    ENDINGS.some((name) => succeeded(schedule, name)) || (succeeded(schedule, 'suspend') && !isReactivated);
  if (isEnded && !isReactivated)
    for (const { accessToken } of answers) {
      const verified = stage.rooms(3).tokens.verifyAccessToken(context.tenant, accessToken);
      const code = await verified.then(
        () => 'accepted',
        (error: { code?: string }) => error.code,
      );
      if (code !== 'token_revoked') violations.push(`an access token of an ended agent is ${code}`);
    }
  const expected = {
    consumed,
    'refresh tokens': consumed,
    logins: consumed,
    'issued tokens': consumed,
    'verified keys': Math.min(1, consumed),
    'login events': isHeard ? consumed : 0,
    ...(isEnded ? { 'live refresh tokens': 0 } : {}),
  };
  return [...violations, ...(await compareCounts(stage, expected, ROWS, [agentId, context.tenant.id]))];
}
