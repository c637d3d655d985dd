// What agents and applications do while things fail: challenges answered by several at the same time, refresh tokens
// used once, twice and late, client credentials, keys that are rotated.
import { createHash, generateKeyPairSync, randomUUID, sign } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { buildPayloadOfResponse } from '#dist/packages/agent/src/payloads.js';
import { createRandom } from './random.mjs';

/** Of these the last have their keys rotated, which ends the tokens of the old ones. */
const AGENTS = 5;
const ROTATED = 2;
const MOST_FAMILIES = 12;
const CLIENT = { client_id: 'service-agent' };

export function createIdentityLoad({ client, ledger, seed, pace, part = '' }) {
  const agents = [];
  const families = [];
  let stopped = false;
  const goesOn = () => !stopped;

  const newKey = () => {
    const { publicKey, privateKey } = generateKeyPairSync('ed25519');
    const raw = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32);
    return {
      privateKey,
      json: { algorithm: 'ed25519', public_key: raw.toString('hex') },
      fingerprint: createHash('sha256').update(raw).digest('hex'),
    };
  };

  const create = async (path, json, what) => {
    const headers = { 'idempotency-key': randomUUID() };
    const answer = await client.persist('POST', path, { json, headers });
    if (answer.status >= 300) throw new Error(`${path} gave ${answer.status} ${JSON.stringify(answer.body)}`);
    if (!answer.headers.has('idempotency-replayed')) client.noteChange(what, answer);
    return answer.body;
  };
  const newAgent = async (n) => {
    const { id } = await create('/api/v1/agents', { name: `agent ${n}` }, 'agent created');
    const key = newKey();
    const { key_id } = await create(`/api/v1/agents/${id}/keys`, key.json, 'key registered');
    return { id, key: { ...key, id: key_id } };
  };

  /** Answers a challenge with as many requests as `times` at the same time, then until the outcome is known. */
  const redeem = async (key, times) => {
    const json = { key_fingerprint: key.fingerprint, scope: 'openid email' };
    const asked = await client.ask('POST', '/auth/agent/challenge', { json, as: '' });
    if (asked.status !== 200) return { refused: asked.isKnown };
    const challenge = asked.body;
    const signature = sign(null, buildPayloadOfResponse(challenge), key.privateKey).toString('base64');
    const body = { challenge_id: challenge.challenge_id, signature, algorithm: 'ed25519' };
    const once = async () => {
      const answer = await client.ask('POST', '/auth/agent/verify', { json: body, as: '' });
      const output = !answer.isKnown ? 'unknown' : answer.status === 200 ? 'redeemed' : answer.body.error;
      const { sent: call, answered: end } = answer;
      ledger.noteOperation('challenge', challenge.challenge_id, { call, end, input: 'redeem', output });
      if (output === 'redeemed') client.noteToken(answer.body.access_token);
      return answer;
    };
    const answers = await Promise.all(Array.from({ length: times }, once));
    if (!answers.some(({ isKnown }) => isKnown)) answers.push(await once());
    const won = answers.find(({ status }) => status === 200);
    return { token: won?.body.refresh_token, sent: asked.sent };
  };

  const logInOn = async (random) => {
    for (; goesOn(); await sleep(random.between(1, 4) * pace)) {
      const agent = random.pick(agents);
      const { token } = await redeem(agent.key, random.chance(0.4) ? 3 : 1);
      const isRotated = agents.indexOf(agent) >= AGENTS - ROTATED;
      if (token === undefined || isRotated || families.length >= MOST_FAMILIES) continue;
      families.push({
        name: randomUUID(),
        current: token,
        used: [],
        busy: false,
        names: new Map([[token, 't0']]),
      });
    }
  };

  const use = async (family, text) => {
    const form = { grant_type: 'refresh_token', refresh_token: text, ...CLIENT };
    const answer = await client.ask('POST', '/oauth/token', { as: '', form });
    const got = answer.status === 200 ? nameOf(family, answer.body.refresh_token) : undefined;
    const output = !answer.isKnown ? 'unknown' : (got ?? answer.body.error);
    const input = nameOf(family, text);
    ledger.noteOperation('refresh', family.name, { call: answer.sent, end: answer.answered, input, output });
    if (answer.status === 200) client.noteToken(answer.body.access_token);
    return answer;
  };
  /** Tokens are secrets: a history names them by their order. */
  const nameOf = (family, text) => {
    if (!family.names.has(text)) family.names.set(text, `t${family.names.size}`);
    return family.names.get(text);
  };

  const refreshOn = async (random) => {
    for (; goesOn(); await sleep(random.between(0.5, 2) * pace)) {
      const family = random.pick(families.filter(({ busy }) => !busy));
      if (family === undefined) continue;
      family.busy = true;
      const { current } = family;
      const isLate = family.used.length > 2 && random.chance(0.04);
      const text = isLate ? family.used[0] : current;
      const answers = await Promise.all(
        Array.from({ length: random.chance(0.3) ? 3 : 1 }, () => use(family, text)),
      );
      const next = answers.find(({ status }) => status === 200)?.body.refresh_token;
      if (next !== undefined && next !== current) {
        family.used.push(current);
        family.current = next;
      }
      family.busy = false;
      const isOver = answers.some(({ status }) => status === 400) && next === undefined;
      if (isOver || family.used.length > 15) families.splice(families.indexOf(family), 1);
    }
  };

  const authorizeOn = async (random) => {
    for (; goesOn(); await sleep(random.between(1, 4) * pace)) await client.authorize();
  };

  /** An agent gets a new key; when the old one is revoked, it is tried once more. */
  const rotateOn = async (random) => {
    for (; goesOn(); await sleep(random.between(500, 2_000))) {
      const agent = random.pick(agents.slice(-ROTATED));
      const [old, next] = [agent.key, newKey()];
      const path = `/api/v1/agents/${agent.id}/keys`;
      const begun = await client.persist('POST', `${path}/rotations`, {
        json: { old_key_id: old.id, ...next.json, overlap_seconds: 1, deadline_seconds: 600 },
        headers: { 'idempotency-key': randomUUID() },
      });
      if (begun.status !== 202) {
        ledger.violate('rotation', `a rotation gave ${begun.status} ${begun.body?.error}`);
        return;
      }
      if (!begun.headers.has('idempotency-replayed')) client.noteChange('rotation begun', begun);
      agent.key = { ...next, id: begun.body.new_key_id };
      while (goesOn() && (await redeem(agent.key, 1)).token === undefined) await sleep(300);
      for (; goesOn(); await sleep(500)) {
        const { status, body } = await client.ask('GET', `${path}/${old.id}`);
        if (status !== 200 || body.state !== 'revoked') continue;
        if ((await redeem(old, 1)).token !== undefined)
          ledger.violate('rotation', `key ${old.id} was used after it was revoked`);
        break;
      }
    }
  };

  return {
    open: async () => {
      for (let n = 0; n < AGENTS; n += 1) agents.push(await newAgent(n));
    },
    run: () => {
      const own = (name) => createRandom(seed, `${name}${part}`);
      return Promise.all([
        logInOn(own('log in 1')),
        logInOn(own('log in 2')),
        refreshOn(own('refresh 1')),
        refreshOn(own('refresh 2')),
        authorizeOn(own('client credentials')),
        rotateOn(own('rotation')),
      ]);
    },
    stop: () => {
      stopped = true;
    },
  };
}
