// Agents, keys and challenges wired for real over one database, beside tenants and tokens; only the relay's notifier and the log are fakes.

import pino from 'pino';
import { composeAgents } from '../../../src/app/wiring/compose-agents.ts';
import { composeAnchors } from '../../../src/app/wiring/compose-anchors.ts';
import { createBruteForceService } from '../../../src/audit/brute-force.service.ts';
import { createAuthenticationFailureService } from '../../../src/authentication/challenges/authentication-failure.service.ts';
import { createChallengeRoutes } from '../../../src/authentication/challenges/challenge.routes.ts';
import { createChallengeService } from '../../../src/authentication/challenges/challenge.service.ts';
import { createRedemptionService } from '../../../src/authentication/challenges/redemption.service.ts';
import { createEventService } from '../../../src/events/event.service.ts';
import { createAgentRoutes } from '../../../src/identity/agents/agent.routes.ts';
import { createSelfRoutes } from '../../../src/identity/agents/self.routes.ts';
import { createSelfService } from '../../../src/identity/agents/self.service.ts';
import { createAnchorRoutes } from '../../../src/identity/anchors/anchor.routes.ts';
import * as anchorStore from '../../../src/identity/anchors/anchor.store.ts';
import { createEnrollmentRoutes } from '../../../src/identity/enrollments/enrollment.routes.ts';
import { createEnrollmentService } from '../../../src/identity/enrollments/enrollment.service.ts';
import { createEnrollmentFailureService } from '../../../src/identity/enrollments/enrollment-failure.service.ts';
import { createKeyRoutes } from '../../../src/identity/keys/key.routes.ts';
import { createRotationRoutes } from '../../../src/identity/keys/rotation.routes.ts';
import type { RequestContext } from '../../../src/platform/context.ts';
import type { KeyAlgorithm } from '../../../src/platform/crypto/algorithm.ts';
import { encodeBase64 } from '../../../src/platform/crypto/base64.ts';
import { fingerprint } from '../../../src/platform/crypto/public-key.ts';
import { derivePublicKey, generatePrivateKey } from '../../../src/platform/crypto/sign.ts';
import { createSignatureVerifier } from '../../../src/platform/crypto/verify-signature.node.ts';
import type { Database } from '../../../src/platform/database/database.ts';
import { createFailureLimiter } from '../../../src/platform/http/failure-limiter.ts';
import { createWorkflowCommandService } from '../../../src/platform/temporal/workflow-command.service.ts';
import { createAccounts, requestTo } from '../../authentication/tokens/accounts.ts';
import { insertSubscription } from '../../events/fixture.ts';

export type Rooms = ReturnType<typeof createRooms>;

/** Wires the rooms. @param options.failuresAllowed a minute of one key from one address; 0 turns the limit off */
export function createRooms(
  database: Database,
  options: {
    failuresAllowed?: number;
    challengeLifetime?: number;
    accounts?: ReturnType<typeof createAccounts>;
    onError?: (error: unknown) => void;
  } = {},
) {
  const accounts = options.accounts ?? createAccounts(database);
  const { audit, tokens } = accounts;
  const events = createEventService({ notifier: { poke: () => undefined } });
  const verifier = createSignatureVerifier({ schnorrThreads: 1 });
  const commands = createWorkflowCommandService();
  const { agents, keys, rotations, rotationSteps } = composeAgents({
    ...accounts,
    database,
    events,
    verifier,
    revokeAnchors: anchorStore.revokeAll,
    onError: options.onError ?? (() => undefined),
  });
  const anchors = composeAnchors({ database, audit, events, commands, agents });
  const limitFailures = (prefix: string) =>
    createFailureLimiter({
      pool: database.pool,
      points: options.failuresAllowed ?? 0,
      seconds: 60,
      prefix,
      logger: pino({ level: 'silent' }),
    });
  const failures = createAuthenticationFailureService({
    database,
    audit,
    events,
    bruteForce: createBruteForceService({ database }),
    limiter: limitFailures('fingerprint'),
  });
  const enrollments = createEnrollmentService({
    database,
    agents,
    keys,
    audit,
    failures: createEnrollmentFailureService({
      database,
      audit,
      events,
      limiter: limitFailures('enrollment'),
      bruteForce: createBruteForceService({ database }),
    }),
  });
  const challenges = createChallengeService({
    database,
    verifier,
    keys,
    tokens,
    redemptions: createRedemptionService({ database, audit, events, rotations }),
    failures,
    challengeLifetime: options.challengeLifetime ?? 300,
  });
  const routes = [
    ...createAgentRoutes({ agents }),
    ...createKeyRoutes({ keys }),
    ...createRotationRoutes({ rotations, workflows: { uiUrl: 'http://localhost:8233', namespace: 'test' } }),
    ...createAnchorRoutes({ anchors }),
    ...createChallengeRoutes({ challenges, dpop: accounts.dpop }),
    ...createEnrollmentRoutes({ enrollments }),
    ...createSelfRoutes({ self: createSelfService({ agents, keys, tokens, database }) }),
  ];
  return {
    ...accounts,
    agents,
    keys,
    rotations,
    rotationSteps,
    anchors,
    enrollments,
    challenges,
    verifier,
    routes,
  };
}

let tenantNumber = 0;

/** A tenant of its own, whose events all reach one subscription, and the context of a request by its administrator. */
export async function createTestTenant({ tenants, database }: Rooms): Promise<RequestContext> {
  const slug = `tenant-${process.pid}-${++tenantNumber}`;
  await tenants.create({ slug });
  const tenant = await tenants.bySlug(slug);
  if (tenant === undefined) throw new Error('the tenant was not made');
  const context = requestTo(tenant);
  await insertSubscription(database, context, { filters: ['*'] });
  const id = '0192f0c1-2345-7000-8000-000000000001';
  return {
    ...context,
    principal: { kind: 'application', subject: id, clientId: id, tokenId: id, scopes: [] },
  };
}

/** An active agent with a fresh key, and what signs for it. */
export async function createTestAgent(
  { agents, keys }: Rooms,
  context: RequestContext,
  options: { algorithm?: KeyAlgorithm; scopes?: readonly string[] } = {},
) {
  const algorithm = options.algorithm ?? 'ed25519';
  const privateKey = generatePrivateKey(algorithm);
  const publicKey = derivePublicKey(algorithm, privateKey);
  const agent = await agents.create(context, {
    name: 'Robot',
    capabilities: ['web', 'mcp'],
    scopes: options.scopes,
  });
  const key = await keys.register(context, agent.id, { algorithm, publicKey: encodeBase64(publicKey.raw) });
  return { agent, key, algorithm, privateKey, publicKey, fingerprint: fingerprint(publicKey.raw) };
}

/** The tenant's events, the oldest first. */
export async function readEvents(database: Database, tenantId: string) {
  const { rows } = await database.query<{ type: string; data: Record<string, unknown> }>(
    `SELECT type, convert_from(body, 'UTF8')::jsonb -> 'data' AS data FROM events WHERE tenant_id = $1 ORDER BY id`,
    [tenantId],
  );
  return rows;
}

/** The tenant's audit log, the oldest first. */
export async function readAudit(database: Database, tenantId: string) {
  const { rows } = await database.query<Record<string, unknown> & { action: string }>(
    `SELECT action, outcome, reason, actor_kind, actor_id, target_type, target_id, key_id, token_id, address, request_id, data
     FROM audit_log WHERE tenant_id = $1 ORDER BY id`,
    [tenantId],
  );
  return rows;
}

/** Inserts a refresh token row by hand. @returns a function that tells why it was revoked, null while it was not */
export async function insertRefreshToken(
  { tokens, database }: Rooms,
  context: RequestContext,
  owner: { agentId: string; keyId: string },
): Promise<() => Promise<string | null>> {
  await tokens.createRefreshToken(database, {
    tenantId: context.tenant.id,
    ...owner,
    scopes: ['openid'],
    audience: context.tenant.audience,
    clientId: 'service-agent',
  });
  return async () => {
    const { rows } = await database.query<{ revoked_reason: string | null }>(
      'SELECT revoked_reason FROM refresh_tokens WHERE key_id = $1',
      [owner.keyId],
    );
    return rows[0]?.revoked_reason ?? null;
  };
}
