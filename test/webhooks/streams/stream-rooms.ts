// A whole service with a receiver: the api of two tenants, a relay that makes first attempts, and a client of the
// management API.
import { createLocalJWKSet, type JWTPayload, jwtVerify } from 'jose';
import { wireWorkerRooms } from '../../../src/app/wiring/worker.ts';
import { loadConfig } from '../../../src/platform/config.ts';
import { createLogger } from '../../../src/platform/logger.ts';
import { openPlatform } from '../../../src/platform/opening/platform.ts';
import { FirstAttemptService } from '../../../src/webhooks/relay/first-attempt.service.ts';
import { RELAY_SETTINGS, RelayService } from '../../../src/webhooks/relay/relay.service.ts';
import * as relayStore from '../../../src/webhooks/relay/relay.store.ts';
import { basic } from '../../authentication/tokens/accounts.ts';
import { type Answer, type Party, startTenants } from '../../isolation/tenants-server.ts';
import { AUDIT_KEY, PATIENT } from '../../setup/database.ts';
import { startScriptedReceiver } from '../../workflows/scripted-receiver.ts';

export const PUSH = 'urn:ietf:rfc:8935';
export const POLL = 'urn:ietf:rfc:8936';
export const SESSION_REVOKED = 'https://schemas.openid.net/secevent/caep/event-type/session-revoked';
export const CREDENTIAL_CHANGE = 'https://schemas.openid.net/secevent/caep/event-type/credential-change';
export const VERIFICATION = 'https://schemas.openid.net/secevent/ssf/event-type/verification';
export const STREAM_UPDATED = 'https://schemas.openid.net/secevent/ssf/event-type/stream-updated';

const SSF = '/api/v1/ssf';

export type Claims = JWTPayload & {
  sub_id: Record<string, unknown>;
  events: Record<string, Record<string, unknown>>;
};

export type StreamRooms = Awaited<ReturnType<typeof startStreamRooms>>;

/** @param place where the service finds its database: a clock of the test's own may be installed there */
export async function startStreamRooms(place?: Parameters<typeof startTenants>[1]) {
  const receiver = await startScriptedReceiver();
  const tenants = await startTenants(() => [], place, { WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' });
  const { owner } = tenants;
  const worker = await startRelay(tenants.url, new URL(owner.credentials.base_url).origin);

  const create = async (fields: Record<string, unknown> = {}, party: Party = owner): Promise<Answer> =>
    party.send('POST', `${SSF}/streams`, fields);
  const pushTo = (path: string, more: Record<string, string> = {}) => ({
    method: PUSH,
    endpoint_url: `${receiver.url}${path}`,
    ...more,
  });
  const makeAgent = async (): Promise<string> =>
    (await owner.send('POST', '/api/v1/agents', { name: 'Robot' })).body.id;

  return {
    ...tenants,
    receiver,
    create,
    pushTo,
    makeAgent,
    /** A new application of the owner's tenant. @returns its access token */
    receiverToken: async (...scopes: string[]): Promise<string> => {
      const { body } = await owner.send('POST', '/api/v1/applications', { name: 'Receiver', scopes });
      const granted = await owner.post(
        '/oauth/token',
        { grant_type: 'client_credentials' },
        basic(body.client_id, body.client_secret),
      );
      return granted.body.access_token;
    },
    /** The claims of a token that jose accepts with the published keys of the owner. */
    read: async (token: string): Promise<Claims> => {
      const { body: jwks } = await owner.send('GET', '/.well-known/ssf-jwks.json', undefined, null);
      const { payload } = await jwtVerify(token, createLocalJWKSet(jwks), {
        issuer: owner.credentials.issuer_url,
        audience: owner.credentials.client_id,
        typ: 'secevent+jwt',
        algorithms: ['RS256'],
      });
      return payload as Claims;
    },
    suspend: (agentId: string) => owner.send('PATCH', `/api/v1/agents/${agentId}/suspend`, {}),
    poll: (id: string, body: Record<string, unknown> = { returnImmediately: true }) =>
      owner.send('POST', `${SSF}/streams/${id}/poll`, body),
    setStatus: (id: string, status: string, reason?: string) =>
      owner.send('POST', `${SSF}/status`, { stream_id: id, status, ...(reason ? { reason } : {}) }),
    status: (id: string) => owner.send('GET', `${SSF}/status?stream_id=${id}`),
    close: async () => {
      await worker.stop();
      await tenants.close();
      await receiver.close();
    },
  };
}

/** A worker's relay, which makes first attempts; nothing is retried, because there is no Temporal. */
async function startRelay(url: string, publicUrl: string) {
  const config = loadConfig(
    {
      DATABASE_URL: url,
      PUBLIC_URL: publicUrl,
      MASTER_KEY: Buffer.alloc(32, 1).toString('base64'),
      AUDIT_KEY,
      LOG_LEVEL: 'silent',
      NODE_ENV: 'test',
      WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
    },
    { role: 'worker' },
  );
  const logger = createLogger(config);
  const platform = openPlatform(config, { logger, name: 'worker', limits: PATIENT });
  const rooms = wireWorkerRooms(platform);
  const relay = new RelayService({
    ...rooms,
    database: platform.database,
    store: relayStore,
    starter: {
      start: () => Promise.reject(new Error('no Temporal')),
      signal: () => Promise.reject(new Error('no Temporal')),
    } as never,
    firstAttempts: new FirstAttemptService(rooms),
    listen: platform.notifier.listen,
    onFailure: () => undefined,
    settings: RELAY_SETTINGS,
  });
  const { stop } = await relay.start();
  return {
    stop: async () => {
      await stop();
      await rooms.close();
      await platform.close();
    },
  };
}
