// Agents, keys and challenges wired for real over one database, beside tenants and tokens; only the relay's notifier
// and the log are fakes.

import { createChallengeRoutes } from '../../../src/authentication/challenges/challenge.routes.ts';
import { wireAuthenticationFailures, wireChallenges } from '../../../src/authentication/challenges/wire.ts';
import { tellOfAgent as tellDelegations } from '../../../src/authentication/delegations/delegation-expiry.store.ts';
import { createAgentRoutes } from '../../../src/identity/agents/agent.routes.ts';
import { AgentService } from '../../../src/identity/agents/agent.service.ts';
import { createAnchorRoutes } from '../../../src/identity/anchors/anchor.routes.ts';
import { AnchorService } from '../../../src/identity/anchors/anchor.service.ts';
import { revokeAll as revokeAnchors } from '../../../src/identity/anchors/anchor.store.ts';
import { AnchorProgressService } from '../../../src/identity/anchors/anchor-progress.service.ts';
import { createEnrollmentRoutes } from '../../../src/identity/enrollments/enrollment.routes.ts';
import { revokeOpen as endEnrollments } from '../../../src/identity/enrollments/enrollment.store.ts';
import { wireEnrollments } from '../../../src/identity/enrollments/wire.ts';
import { createKeyRoutes } from '../../../src/identity/keys/key.routes.ts';
import { release as releaseKeys } from '../../../src/identity/keys/key.store.ts';
import { createKeyDirectoryRoutes } from '../../../src/identity/keys/key-directory.routes.ts';
import { createKeySetRoutes } from '../../../src/identity/keys/key-set.routes.ts';
import { createRotationRoutes } from '../../../src/identity/keys/rotation.routes.ts';
import { createSelfRoutes } from '../../../src/identity/keys/self.routes.ts';
import { SelfService } from '../../../src/identity/keys/self.service.ts';
import { wireKeys } from '../../../src/identity/keys/wire.ts';
import type { RequestContext } from '../../../src/platform/context.ts';
import type { KeyAlgorithm } from '../../../src/platform/crypto/algorithm.ts';
import { encodeBase64 } from '../../../src/platform/crypto/base64.ts';
import { fingerprint } from '../../../src/platform/crypto/public-key.ts';
import { createSignatureVerifier } from '../../../src/platform/crypto/verify-signature.node.ts';
import type { Database } from '../../../src/platform/database/database.ts';
import { wireLimits } from '../../../src/platform/http/wire.ts';
import type { Platform } from '../../../src/platform/opening/platform.ts';
import { APPLICATION_SCOPES } from '../../../src/platform/scopes.ts';
import { createAccounts, requestTo } from '../../authentication/tokens/accounts.ts';
import { storeRefreshToken } from '../../authentication/tokens/new-refresh-token.ts';
import { derivePublicKey, generatePrivateKey } from '../../platform/crypto/sign.ts';
import { createTestPlatform } from '../../setup/platform.ts';
import { insertSubscription } from '../../webhooks/intake/fixture.ts';

const ROUTES = [
  createAgentRoutes,
  createKeyRoutes,
  createKeySetRoutes,
  createKeyDirectoryRoutes,
  createRotationRoutes,
  createAnchorRoutes,
  createChallengeRoutes,
  createEnrollmentRoutes,
  createSelfRoutes,
];

export type Rooms = ReturnType<typeof createRooms>;

/** Wires the rooms. @param options.failuresAllowed a minute of one key from one address; 0 turns the limit off */
export function createRooms(
  database: Database,
  {
    accounts = createAccounts(database),
    failuresAllowed = 0,
    challengeLifetime = 300,
    log = accounts.platform.log,
  }: {
    failuresAllowed?: number;
    challengeLifetime?: number;
    accounts?: ReturnType<typeof createAccounts>;
    log?: Platform['log'];
  } = {},
) {
  const { config } = accounts.platform;
  const platform = createTestPlatform(database, {
    ...accounts.platform,
    config: { ...config, challengeLifetime, rateLimit: { fingerprintFailures: failuresAllowed } },
    log,
  });
  const limits = wireLimits(platform);
  const verifier = createSignatureVerifier({ schnorrThreads: 1 });
  const agents = new AgentService({
    ...accounts,
    tellDelegations,
    releaseKeys,
    endEnrollments,
    revokeAnchors,
  });
  const keys = wireKeys(platform, { ...accounts, agents, verifier });
  const failures = wireAuthenticationFailures(platform, { ...accounts, limits });
  const needs = { ...accounts, ...keys, agents, failures, verifier };
  const services = {
    ...needs,
    workflows: platform.config.temporal,
    anchors: new AnchorService({ ...needs, progress: new AnchorProgressService(needs) }),
    enrollments: wireEnrollments(platform, { ...needs, limits }),
    challenges: wireChallenges(platform, needs),
    self: new SelfService(needs),
  };
  return { ...services, platform, routes: ROUTES.flatMap((create) => create(services)) };
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
    principal: { kind: 'application', subject: id, clientId: id, tokenId: id, scopes: APPLICATION_SCOPES },
  };
}

/** An active agent with a fresh key, and what signs for it. */
export async function createTestAgent(
  { agents, keys }: Rooms,
  context: RequestContext,
  options: {
    algorithm?: KeyAlgorithm;
    scopes?: readonly string[];
    capabilities?: readonly string[];
  } = {},
) {
  const algorithm = options.algorithm ?? 'ed25519';
  const privateKey = generatePrivateKey(algorithm);
  const publicKey = derivePublicKey(algorithm, privateKey);
  const agent = await agents.create(context, {
    name: 'Robot',
    capabilities: options.capabilities ?? ['web', 'mcp'],
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
    `SELECT action, outcome, reason, actor_kind, actor_id, target_type, target_id, key_id, token_id, client_address AS address, request_id, data
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
  await storeRefreshToken(tokens, database, {
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
