// Challenges at an even rate against a whole stack, one of ten answered, and what Temporal has to do with it: one
// workflow a minute, whatever the rate. Ends when each challenge is used or counted as expired.
import { createPrivateKey, generateKeyPairSync, sign } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import pg from 'pg';
import { openDeliveryStack } from './delivery-stack.mjs';
import { openConnection } from './http-connection.mjs';
import { buildPayloadOfResponse } from './keys.mjs';
import { call } from './service.mjs';

/**
 * Seconds: the shortest lifetime that the service allows, and how long the last sweep may take after the last
 * challenge's end.
 */
const LIFETIME = 10;
const PATIENCE = 180;

const AGENTS = 64;
const JSON_TYPE = { 'content-type': 'application/json' };
const now = () => performance.timeOrigin + performance.now();

/**
 * @param options.rate challenges a second
 * @returns seconds, issued, used, failed, rate, p50 and p99 (ms) of issuing, minutes, workflows (ids), events (of the
 *   longest history), marked, audited, lines
 */
export async function measureChallengeExpiry(options) {
  const opened = now();
  const stack = await openDeliveryStack({
    ...options,
    settings: { CHALLENGE_LIFETIME: String(LIFETIME) },
  });
  const database = new pg.Client({ connectionString: stack.databaseUrl });
  const connection = await Connection.connect({ address: stack.temporalAddress });
  try {
    await database.connect();
    const keys = await register(stack);
    const begun = now();
    const load = await issue(stack, keys, options);
    const seconds = (now() - begun) / 1_000;
    await settled(database);
    const minutes = Math.floor(now() / 60_000) - Math.floor(opened / 60_000) + 1;
    const client = new Client({ connection, namespace: 'countersign' });
    return {
      ...load,
      seconds,
      minutes,
      ...(await countWorkflows(client)),
      ...(await countChallenges(database)),
    };
  } finally {
    await Promise.allSettled([database.end(), connection.close()]);
    await stack.close();
  }
}

async function register({ origin, tenant }) {
  const token = await call(`${origin}/oauth/token`, {
    headers: { authorization: tenant.basic },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  });
  const headers = { authorization: `Bearer ${token.access_token}`, ...JSON_TYPE };
  const keys = [];
  for (let n = 0; n < AGENTS; n += 1) {
    const { publicKey, privateKey } = generateKeyPairSync('ed25519');
    const agent = await call(`${origin}/api/v1/agents`, {
      headers,
      body: JSON.stringify({ name: `agent ${n}` }),
    });
    const { fingerprint } = await call(`${origin}/api/v1/agents/${agent.id}/keys`, {
      headers,
      body: JSON.stringify({ algorithm: 'ed25519', public_key: publicKey.export({ format: 'jwk' }).x }),
    });
    keys.push({ fingerprint, key: createPrivateKey(privateKey.export({ type: 'pkcs8', format: 'pem' })) });
  }
  return keys;
}

async function issue({ port }, keys, { rate, connections, seconds }) {
  const begun = now();
  const latencies = [];
  let sent = 0;
  let used = 0;
  let failed = 0;
  const agent = async () => {
    const connection = await openConnection(port);
    for (;;) {
      const n = sent;
      const at = begun + (n * 1_000) / rate;
      if (at >= begun + seconds * 1_000) break;
      sent += 1;
      await sleep(Math.max(0, at - now()));
      const { fingerprint, key } = keys[n % keys.length];
      const asked = now();
      const answer = await connection.post({
        path: '/auth/agent/challenge',
        headers: JSON_TYPE,
        body: JSON.stringify({ key_fingerprint: fingerprint, scope: 'openid' }),
      });
      if (answer.status !== 200) {
        failed += 1;
        continue;
      }
      latencies.push(now() - asked);
      if (n % 10 !== 0) continue;
      const challenge = JSON.parse(answer.body);
      const signature = sign(null, buildPayloadOfResponse(challenge), key).toString('base64');
      const verified = await connection.post({
        path: '/auth/agent/verify',
        headers: JSON_TYPE,
        body: JSON.stringify({ challenge_id: challenge.challenge_id, signature, algorithm: 'ed25519' }),
      });
      if (verified.status === 200) used += 1;
      else failed += 1;
    }
    connection.close();
  };
  await Promise.all(Array.from({ length: connections }, agent));
  const issuing = (now() - begun) / 1_000;
  latencies.sort((a, b) => a - b);
  const at = (share) => latencies[Math.floor(latencies.length * share)] ?? Number.NaN;
  const issued = latencies.length;
  return { issued, used, failed, rate: issued / issuing, p50: at(0.5), p99: at(0.99) };
}

async function settled(database) {
  for (const deadline = now() + PATIENCE * 1_000; now() < deadline; await sleep(1_000)) {
    const { rows } = await database.query(
      `SELECT EXISTS (SELECT 1 FROM challenges WHERE consumed_at IS NULL AND expired_at IS NULL)
         OR EXISTS (SELECT 1 FROM challenge_expiry_counts) AS open`,
    );
    if (!rows[0].open) return;
  }
  throw new Error(`challenges were not swept within ${PATIENCE} s`);
}

async function countWorkflows(client) {
  // What has ended is searchable a moment later.
  await sleep(3_000);
  const workflows = [];
  let events = 0;
  for await (const { workflowId, historyLength = 0 } of client.workflow.list({
    query: 'WorkflowType="challengeExpiry"',
  })) {
    workflows.push(workflowId);
    events = Math.max(events, historyLength);
  }
  return { workflows: workflows.sort(), events };
}

async function countChallenges(database) {
  const { rows } = await database.query(
    `SELECT (SELECT count(expired_at)::int FROM challenges) AS marked, sum((data ->> 'count')::int)::int AS audited, count(*)::int AS lines
     FROM audit_log WHERE action = 'auth.challenges_expired'`,
  );
  return rows[0];
}
