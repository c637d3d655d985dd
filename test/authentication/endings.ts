// Each road by which a token is issued, beside each change that ends its tokens: the cells of a table. A cell is played
// by two processes, statement by statement or in real time, and each token that was answered is judged afterwards.
import { generateKeyPairSync, type KeyObject, randomBytes, randomUUID } from 'node:crypto';
import { SignJWT } from 'jose';
import { ConsoleSessionService } from '../../src/authentication/console/session.service.ts';
import { JWT_BEARER_GRANT, TOKEN_TYPES } from '../../src/authentication/tokens/grant-types.ts';
import { UserForgettingService } from '../../src/authentication/users/user-forgetting.service.ts';
import { TOKEN_EXCHANGE_GRANT } from '../../src/identity/applications/application.ts';
import { readApplicationJwks } from '../../src/identity/applications/application-jwks.ts';
import { type Act, actorsOf } from '../../src/platform/act.ts';
import type { RequestContext } from '../../src/platform/context.ts';
import type { Database } from '../../src/platform/database/database.ts';
import { wireLimits } from '../../src/platform/http/wire.ts';
import { createTestAgent } from '../identity/agents/agent-rooms.ts';
import { answer, ask } from './challenges/answer.ts';
import { createExchangeRooms } from './token-exchange/exchange-rooms.ts';
import { basic, createAccounts } from './tokens/accounts.ts';
import { claimsOf, issueFirst, refresh } from './tokens/refresh-fixture.ts';
import { newKey } from './trusted-issuers/identity-provider.ts';

const SCOPES = ['email', 'openid'];
const NARROWED = ['openid'];
const NEW_AUDIENCE = 'https://new.example';

export type EndingRooms = ReturnType<typeof createEndingRooms>;

/** All rooms in which a token is issued, and those in which tokens end. */
export function createEndingRooms(database: Database, masterKeys = [{ id: 'test', key: randomBytes(32) }]) {
  const rooms = createExchangeRooms(database, { accounts: createAccounts(database, { masterKeys }) });
  const failures = wireLimits(rooms.platform).limitFailures('console', 0);
  return {
    ...rooms,
    sessions: new ConsoleSessionService({ ...rooms, failures }),
    forgetting: new UserForgettingService({ ...rooms, tokens: rooms.revocations }),
    closeRooms: async () => {
      await Promise.all([rooms.verifier.close(), rooms.revocations.close(), rooms.clientRecords.close()]);
      await rooms.closeExchange();
    },
  };
}

const pairOf = () => generateKeyPairSync('ec', { namedCurve: 'P-256' });
const jwksOf = ({ publicKey }: { publicKey: KeyObject }) =>
  readApplicationJwks({ keys: [{ ...publicKey.export({ format: 'jwk' }) }] });

const provider = await newKey();

type World = Awaited<ReturnType<typeof createWorld>>;

/** An agent, an application that is linked to it, and issuers that are trusted. */
async function createWorld(rooms: EndingRooms, context: RequestContext) {
  const signer = await createTestAgent(rooms, context, { scopes: SCOPES });
  const { id: agentId } = signer.agent;
  const first = await issueFirst(rooms, context, { agentId, keyId: signer.key.id });
  const pair = pairOf();
  const { application, clientSecret } = await rooms.applications.create(context, {
    name: 'Client',
    scopes: SCOPES,
    grantTypes: ['client_credentials', TOKEN_EXCHANGE_GRANT],
    agentId,
    jwks: jwksOf(pair),
  });
  const { id: otherId } = await rooms.agents.create(context, { name: 'Other', scopes: SCOPES });
  const [issuer, subject] = [
    `https://${agentId}.example`,
    { issuer: `https://u.${agentId}.example`, sub: 'ada' },
  ];
  const keys = { jwks: { keys: [provider.jwk as never] }, audiences: [issuer] };
  const rules = [{ agentId, claims: { sub: 'job' } }];
  const workload = await rooms.workloadIssuers.create(context, { ...keys, issuer, rules });
  await rooms.trustedIssuers.create(context, { ...keys, issuer: subject.issuer });
  const expiresAt = new Date(Date.now() + 3_600_000);
  const delegation = await rooms.delegations.create(context, { subject, agentId, scopes: SCOPES, expiresAt });
  return {
    context,
    signer,
    first,
    agentId,
    otherId,
    application,
    clientSecret,
    pair,
    issuer,
    subject,
    workload,
    delegation,
  };
}

type Claims = ReturnType<typeof claimsOf>;

/** `isOld`: whether a token is of the state before the change. `codes`: with which its road may be refused after it. */
type Change = {
  readonly act: (rooms: EndingRooms, world: World) => Promise<unknown>;
  readonly isOld: (claims: Claims, world: World) => boolean;
  readonly codes: readonly string[];
};

const each = () => true;
const none = () => false;
const ofOldAudience = ({ aud }: Claims) => aud !== NEW_AUDIENCE;
const ofOldScopes = ({ scope }: Claims) => String(scope) !== NARROWED.join(' ');
const ofOldAgent = ({ sub, act }: Claims, { agentId }: World) =>
  [sub, ...actorsOf(act as Act | undefined).map((actor) => actor.sub)].includes(agentId);
const change = (act: Change['act'], isOld: Change['isOld'], ...codes: string[]): Change => ({
  act,
  isOld,
  codes,
});
const ofAgent = (patch: Parameters<EndingRooms['agents']['update']>[2]): Change['act'] => {
  return (rooms, { context, agentId }) => rooms.agents.update(context, agentId, patch);
};
const ofApplication = (
  patch: (world: World) => Parameters<EndingRooms['applications']['update']>[2],
): Change['act'] => {
  return (rooms, world) => rooms.applications.update(world.context, world.application.id, patch(world));
};

const CHANGES = {
  'agent renamed': change(ofAgent({ name: 'Renamed' }), none),
  "agent's audience": change(ofAgent({ audience: NEW_AUDIENCE }), ofOldAudience, 'invalid_target'),
  "agent's proof": change(ofAgent({ dpopBoundAccessTokens: true }), each, 'invalid_dpop_proof'),
  "agent's scopes": change(ofAgent({ scopes: NARROWED }), ofOldScopes, 'invalid_scope'),
  'agent suspended': change(
    (rooms, { context, agentId }) => rooms.agents.suspend(context, agentId),
    each,
    'policy_denied',
    'invalid_grant',
  ),
  'agent deleted': change(
    (rooms, { context, agentId }) => rooms.agents.remove(context, agentId),
    each,
    'invalid_client',
    'invalid_grant',
    'key_not_found',
  ),
  'key revoked': change(
    (rooms, { context, agentId, signer }) => rooms.keys.revoke(context, agentId, signer.key.id),
    each,
    'key_revoked',
    'invalid_grant',
  ),
  'refresh token revoked': change(
    (rooms, { context, application, clientSecret, first }) =>
      rooms.introspection.revoke(context, {
        authorization: basic(application.id, clientSecret),
        parameters: { token: first.refreshToken },
      }),
    each,
    'invalid_grant',
  ),
  'application renamed': change(
    ofApplication(() => ({ name: 'Renamed' })),
    none,
  ),
  "application's audience": change(
    ofApplication(() => ({ audience: NEW_AUDIENCE })),
    ofOldAudience,
  ),
  "application's proof": change(
    ofApplication(() => ({ dpopBoundAccessTokens: true })),
    each,
    'invalid_dpop_proof',
  ),
  "application's scopes": change(
    ofApplication(() => ({ scopes: NARROWED })),
    ofOldScopes,
  ),
  'application deleted': change(
    (rooms, { context, application }) => rooms.applications.remove(context, application.id),
    each,
    'invalid_client',
  ),
  'application of another agent': change(
    ofApplication(({ otherId }) => ({ agentId: otherId })),
    ofOldAgent,
  ),
  'application unlinked': change(
    ofApplication(() => ({ agentId: null })),
    ofOldAgent,
  ),
  'keys replaced': change(
    ofApplication(() => ({ jwks: jwksOf(pairOf()) })),
    each,
    'invalid_client',
  ),
  'secret removed': change(
    (rooms, { context, application: { id, secrets } }) =>
      rooms.applications.removeSecret(context, id, secrets[0]?.id ?? ''),
    each,
    'invalid_client',
  ),
  'secret rotated': change(
    (rooms, { context, application }) => rooms.applications.rotateSecret(context, application.id, 0),
    each,
    'invalid_client',
  ),
  'rules narrowed': change(
    (rooms, { context, workload }) => rooms.workloadIssuers.update(context, workload.id, { rules: [] }),
    each,
    'invalid_grant',
    'temporarily_unavailable',
  ),
  'issuer removed': change(
    (rooms, { context, workload }) => rooms.workloadIssuers.remove(context, workload.id),
    each,
    'invalid_grant',
  ),
  'delegation revoked': change(
    (rooms, { context, delegation }) => rooms.delegations.revoke(context, delegation.id),
    each,
    'invalid_grant',
  ),
  'user forgotten': change(
    (rooms, { context, subject }) => rooms.forgetting.forget(context, subject),
    each,
    'invalid_grant',
  ),
} satisfies Record<string, Change>;

type ChangeName = keyof typeof CHANGES;

const OF_AGENT: ChangeName[] = [
  'agent renamed',
  "agent's audience",
  "agent's proof",
  "agent's scopes",
  'agent suspended',
  'agent deleted',
];
const OF_KEY: ChangeName[] = [...OF_AGENT, 'key revoked'];
const OF_FAMILY: ChangeName[] = [...OF_KEY, 'refresh token revoked'];
// The tokens of its applications have their own audience.
const OF_LINKED = OF_AGENT.filter((name) => name !== "agent's audience");
const OF_APPLICATION: ChangeName[] = [
  'application renamed',
  "application's proof",
  "application's scopes",
  'application deleted',
  'application of another agent',
];
const OF_CLIENT: ChangeName[] = [
  ...OF_LINKED,
  ...OF_APPLICATION,
  "application's audience",
  'application unlinked',
];
const OF_SECRET: ChangeName[] = ['secret removed', 'secret rotated'];

/** `here` issues; `away` makes what is there before, so that `here` remembers nothing of it. */
type Places = { readonly here: EndingRooms; readonly away: EndingRooms };

/** `codes`: with which it is refused after any change that ends what it began with. */
type Road = {
  readonly prepare: (places: Places, world: World) => Promise<() => Promise<string>>;
  readonly changes: readonly ChangeName[];
  readonly codes?: readonly string[];
};

const request = async (
  rooms: EndingRooms,
  { context }: World,
  parameters: Record<string, string>,
  authorization?: string,
) => (await rooms.tokenEndpoint.requestToken(context, { authorization, parameters })).answer.access_token;
const bySecret = (
  rooms: EndingRooms,
  world: World,
  parameters: Record<string, string> = { grant_type: 'client_credentials' },
) => request(rooms, world, parameters, basic(world.application.id, world.clientSecret));

const verifyAt = (of: keyof Places): Road => ({
  changes: OF_KEY,
  prepare: async (places, { context, signer }) => {
    const input = answer(await ask(places[of], context, signer.fingerprint, SCOPES.join(' ')), signer);
    return async () => (await places.here.challenges.verify(context, input)).accessToken;
  },
});

const refreshAfter = (earlier: 'nothing' | 'itself'): Road => ({
  changes: OF_FAMILY,
  prepare: async ({ here, away }, { context, first }) => {
    const { refreshToken } = first;
    if (earlier === 'itself') await refresh(away, context, refreshToken);
    return async () => (await refresh(here, context, refreshToken)).access_token;
  },
});

const credentialsAfter = (earlier: 'nothing' | 'another'): Road => ({
  changes: [...OF_CLIENT, ...OF_SECRET],
  prepare: async ({ here }, world) => {
    if (earlier === 'another') await bySecret(here, world);
    return () => bySecret(here, world);
  },
});

const ROADS: Readonly<Record<string, Road>> = {
  'verify (remembered)': verifyAt('here'),
  'verify (read)': verifyAt('away'),
  refresh: refreshAfter('nothing'),
  'refresh (repeated)': refreshAfter('itself'),
  'client credentials (remembered)': credentialsAfter('another'),
  'client credentials (read)': credentialsAfter('nothing'),
  private_key_jwt: {
    changes: [...OF_CLIENT, 'keys replaced'],
    prepare: async ({ here }, world) => {
      const { id } = world.application;
      const claims = { iss: id, sub: id, aud: world.context.tenant.issuerUrl, jti: randomUUID() };
      const signing = new SignJWT(claims).setProtectedHeader({ alg: 'ES256' }).setExpirationTime('4 minutes');
      const client_assertion = await signing.sign(world.pair.privateKey);
      const client_assertion_type = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
      return () =>
        request(here, world, { grant_type: 'client_credentials', client_assertion_type, client_assertion });
    },
  },
  'workload assertion': {
    changes: [...OF_AGENT, 'rules narrowed', 'issuer removed'],
    prepare: async ({ here }, world) => {
      const { issuer: iss } = world;
      const assertion = await provider.sign({ iss, aud: iss, sub: 'job', jti: randomUUID() });
      return () => request(here, world, { grant_type: JWT_BEARER_GRANT, assertion });
    },
  },
  'token exchange': {
    changes: [...OF_FAMILY, ...OF_APPLICATION, ...OF_SECRET, 'delegation revoked', 'user forgotten'],
    // The actor's token has ended, or the application is of another agent.
    codes: ['invalid_request'],
    prepare: async ({ here }, world) => {
      const { issuer: iss, sub } = world.subject;
      const parameters = {
        grant_type: TOKEN_EXCHANGE_GRANT,
        subject_token: await provider.sign({ iss, sub, aud: world.issuer }),
        subject_token_type: TOKEN_TYPES.idToken,
        actor_token: world.first.accessToken,
        actor_token_type: TOKEN_TYPES.accessToken,
      };
      return () => bySecret(here, world, parameters);
    },
  },
  'console session': {
    changes: [...OF_CLIENT, ...OF_SECRET],
    // The session has ended, or a console cannot use the application.
    codes: ['invalid_token', 'policy_denied'],
    prepare: async ({ here, away }, { context, application: { id: clientId }, clientSecret }) => {
      const cookie = await away.sessions.signIn(context, { clientId, clientSecret });
      return async () => (await here.sessions.issueToken(context, cookie)).accessToken;
    },
  },
};

export type Cell = { readonly road: string; readonly change: ChangeName };

export const CELLS: readonly Cell[] = Object.entries(ROADS).flatMap(([road, { changes }]) =>
  changes.map((name) => ({ road, change: name })),
);

/**
 * Makes the rows of a cell.
 * @returns `issue`, for the process `here`, `end` for another one, `codes` with which `issue` may be refused after
 *   `end`, and `isOld`, whether a token is of the state before it
 */
export async function prepareCell({ road, change: name }: Cell, places: Places, context: RequestContext) {
  const [{ prepare, codes: own = [] }, { act, isOld, codes }] = [ROADS[road] as Road, CHANGES[name]];
  const world = await createWorld(places.away, context);
  const isControl = isOld === none;
  return {
    issue: await prepare(places, world),
    end: (rooms: EndingRooms) => act(rooms, world),
    isOld: (token: string) => isOld(claimsOf(token), world),
    codes: isControl ? [] : [...codes, ...own],
  };
}
