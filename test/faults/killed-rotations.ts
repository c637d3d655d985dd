// Keys that go, each in one of the ways in which one can, with an agent that authenticates with both keys all the
// while. How it ends is told without ids and times, so that any two can be compared.
import { setTimeout as sleep } from 'node:timers/promises';
import { entityWorkflowId } from '../../src/platform/temporal/names.ts';
import type { KeyRotationState } from '../../workflows/agent-key-rotation.ts';
import { answer, ask as askChallenge, type Signer } from '../authentication/challenges/answer.ts';
import { createTestAgent } from '../identity/agents/agent-rooms.ts';
import { newKeyPair } from '../identity/keys/rotation-case.ts';
import type { KillableStack } from './killable-stack.ts';

/**
 * `switched`: the agent switches after the deadline, and the workflow has to see it. `canceled`: by an operator, who
 * asks the workflow. `deprecated`: by hand, so it begins at the second step.
 */
export const WAYS = ['switched', 'canceled', 'deprecated'] as const;
export type Way = (typeof WAYS)[number];

/** Seconds: long enough that a loaded machine takes the same steps, most of the time. */
const DEADLINE = 3;
const OVERLAP = 6;

/** Milliseconds between two authentications with one key: a hundred agents make them. */
const BETWEEN_USES = 5_000;
/** Milliseconds between two questions. */
const PAUSE = 1_500;

/** A database that has too much to do on a loaded machine: neither Temporal nor a worker is in its way. */
const BUSY = 'temporarily_unavailable';

async function persist<T>(action: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await action();
    } catch (error) {
      if ((error as { code?: string }).code !== BUSY) throw error;
      await sleep(PAUSE);
    }
  }
}

export type DepartingCase = Awaited<ReturnType<typeof createCase>>;

/** An agent with a key that is to go this way. */
export async function createCase(stack: KillableStack, way: Way) {
  const { rooms, context, client, keys } = stack;
  const { agent, key, ...old } = await persist(() => createTestAgent(rooms, context));
  const next = newKeyPair();
  const workflowId = entityWorkflowId('agentKeyRotation', key.id);
  const handle = client.workflow.getHandle(workflowId);
  const refusals: { key: 'old' | 'new'; code: string }[] = [];
  let hasSwitched = false;
  let hasEnded = false;
  let end = (): void => undefined;
  const ending = new Promise<void>((resolve) => {
    end = resolve;
  });

  const challengeOf = (signer: { fingerprint: string }) => askChallenge(rooms, context, signer.fingerprint);
  const signIn = async (signer: Signer & { fingerprint: string }) =>
    rooms.challenges.verify(context, answer(await challengeOf(signer), signer));

  /** Uses a key until it is refused, and once more when everything has ended. */
  const use = async (which: 'old' | 'new', attempt: () => Promise<unknown>): Promise<void> => {
    for (let isLast = false; !isLast; ) {
      isLast = hasEnded;
      try {
        await persist(attempt);
      } catch (error) {
        refusals.push({ key: which, code: String((error as { code?: string }).code ?? error) });
        return;
      }
      if (!isLast) await Promise.race([sleep(BETWEEN_USES), ending]);
    }
  };
  const useBoth = () =>
    Promise.all([
      use('old', () => signIn(old)),
      // To ask for a challenge is no use of a key, and must not be refused either.
      way === 'deprecated' || use('new', () => (hasSwitched ? signIn(next) : challengeOf(next))),
    ]);

  /** A call to a worker that may be stopped. */
  const soon = <T>(call: () => Promise<T>) => client.withDeadline(Date.now() + 4_000, call);
  const isWaiting = () =>
    soon(() => handle.query<KeyRotationState>('state')).then(
      ({ doing }) => doing === 'waiting for the switch',
      () => false,
    );

  const goThrough: Record<Way, () => Promise<unknown>> = {
    switched: async () => {
      await keys.until(key.id, ({ stalled }) => stalled);
      // The workflow waits again, unless it is kept from that.
      await sleep(PAUSE);
      await persist(() => signIn(next));
      hasSwitched = true;
      await keys.until(key.id, isRevoked);
    },
    canceled: async () => {
      for (; !(await isWaiting()); await sleep(PAUSE));
      let isCanceled = false;
      const canceled = keys
        .until(key.id, ({ rotation }) => rotation === 'canceled')
        .then(() => {
          isCanceled = true;
        });
      const askOperator = () => soon(() => handle.executeUpdate('cancel', { args: ['by phone'] }));
      // One that was answered is not asked again.
      for (; !isCanceled; await sleep(PAUSE))
        await Promise.race([
          canceled,
          askOperator().then(
            () => canceled,
            () => undefined,
          ),
        ]);
      hasSwitched = true;
    },
    deprecated: () => keys.until(key.id, isRevoked),
  };

  const begin = async (): Promise<unknown> => {
    const { rotations } = rooms;
    if (way === 'deprecated')
      return rooms.keys.deprecate(context, agent.id, key.id, { sunsetAfterSeconds: OVERLAP });
    const isLong = way === 'canceled';
    return rotations.begin(context, agent.id, {
      oldKeyId: key.id,
      ...next,
      overlapSeconds: isLong ? 600 : OVERLAP,
      deadlineSeconds: isLong ? 600 : DEADLINE,
    });
  };

  const result = async (): Promise<unknown> => {
    for (;;) {
      try {
        return await handle.result();
      } catch {
        await sleep(PAUSE);
      }
    }
  };

  const goOn = async () => {
    const using = useBoth();
    await goThrough[way]();
    const ended = await result();
    hasEnded = true;
    end();
    await using;
    return { ...(await persist(() => readEnd(stack, agent.id, key.id))), refusals, result: ended };
  };

  return {
    way,
    workflowId,
    /** Lets the key begin to go. @returns waits for the end */
    begin: async () => {
      // However slow the machine is, the key was used before it goes, and so is verified.
      await persist(() => signIn(old));
      await persist(begin);
      const ended = goOn();
      return () => ended;
    },
  };
}

const isRevoked = ({ state }: { state: string }) => state === 'revoked';

/** What is left in Postgres, without ids and times; `lateUses`: uses of the old key at or after its sunset. */
async function readEnd({ database }: KillableStack, agentId: string, keyId: string) {
  const { rows } = await database.query(
    `SELECT old.state AS old_key, old.revoked_reason AS reason, old.deprecated_at IS NOT NULL AS was_deprecated, fresh.state AS new_key,
       fresh.verified_at IS NOT NULL AS is_verified, r.state AS rotation, r.end_reason, r.stalled_at IS NOT NULL AS stalled,
       r.switched_at = fresh.first_used_at AS is_switch_noted,
       old.sunset_at = greatest(r.switched_at + r.overlap_seconds * interval '1 s', old.sunset_at) AS is_overlap_kept,
       old.revoked_at >= old.sunset_at AS is_revoked_after_sunset,
       (SELECT count(*)::int FROM challenges c WHERE c.key_id = old.id AND c.consumed_at >= old.sunset_at) AS late_uses,
       (SELECT count(*) FROM challenges c WHERE c.key_id = old.id AND c.consumed_at IS NOT NULL) > 0 AS was_used,
       (SELECT count(*)::int FROM refresh_tokens t WHERE t.key_id = old.id AND t.revoked_at IS NULL AND old.state = 'revoked') AS live_tokens,
       (SELECT array_agg(action ORDER BY action) FROM audit_log l
        WHERE l.tenant_id = old.tenant_id AND l.action LIKE 'agent.%' AND l.key_id IN (old.id, fresh.id)) AS audit,
       (SELECT array_agg(type ORDER BY type) FROM events e
        WHERE e.tenant_id = old.tenant_id AND convert_from(e.body, 'UTF8')::jsonb -> 'data' ->> 'agent_id' = $2) AS events
     FROM agent_keys old LEFT JOIN key_rotations r ON r.old_key_id = old.id LEFT JOIN agent_keys fresh ON fresh.id = r.new_key_id
     WHERE old.id = $1`,
    [keyId, agentId],
  );
  return rows[0];
}
