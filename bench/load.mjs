// The load generator: a process of its own. Each connection sends its next request when the answer to the last one is
// there.
import { openConnection } from './http-connection.mjs';
import { buildPayloadOfResponse, openSigner } from './keys.mjs';
import { openTokenRequest } from './token-requests.mjs';

const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token';
const JSON_TYPE = { 'content-type': 'application/json' };

/** Opens each scenario on one connection; a cycle resolves to whether it succeeded. */
const SCENARIOS = {
  tokens: ({ authorization, form, clients }) => {
    const request = { path: '/oauth/token', body: form, headers: { authorization, ...FORM } };
    const applications = (clients?.map(openTokenRequest) ?? [() => request]).map((next) => ({
      next,
      nonce: '',
    }));
    let turn = 0;
    return async (connection) => async () => {
      const application = applications[turn++ % applications.length];
      const { status, nonce } = await connection.post(application.next(application.nonce));
      application.nonce = nonce ?? application.nonce;
      return status === 200;
    };
  },
  introspection: ({ authorization, form }) => {
    const headers = { authorization, ...FORM };
    return async (connection) => {
      const { body } = await connection.post({ path: '/oauth/token', body: form, headers });
      const token = new URLSearchParams({ token: JSON.parse(body).access_token }).toString();
      return async () => {
        const answer = await connection.post({ path: '/oauth/introspect', body: token, headers });
        return answer.status === 200 && JSON.parse(answer.body).active === true;
      };
    };
  },
  challenges: (inputs) => {
    const authenticate = openAgents(inputs);
    return async (connection) => async () => (await authenticate(connection)) !== undefined;
  },
  exchange: (inputs) => {
    const authenticate = openAgents(inputs);
    const headers = { authorization: inputs.authorization, ...FORM };
    return async (connection) => {
      const actor = await authenticate(connection);
      const subject = await connection.post({ path: '/oauth/token', body: inputs.form, headers });
      const body = new URLSearchParams({
        grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
        subject_token: JSON.parse(subject.body).access_token,
        subject_token_type: ACCESS_TOKEN,
        actor_token: actor.access_token,
        actor_token_type: ACCESS_TOKEN,
      }).toString();
      return async () => (await connection.post({ path: '/oauth/token', body, headers })).status === 200;
    };
  },
  refresh: (inputs) => {
    const authenticate = openAgents(inputs);
    return async (connection) => {
      let { refresh_token } = await authenticate(connection);
      return async () => {
        const form = { grant_type: 'refresh_token', client_id: 'service-agent', refresh_token };
        const answer = await connection.post({
          path: '/oauth/token',
          body: new URLSearchParams(form).toString(),
          headers: FORM,
        });
        if (answer.status !== 200) return false;
        ({ refresh_token } = JSON.parse(answer.body));
        return true;
      };
    };
  },
};

/**
 * @returns a function by which the next agent signs a challenge; it resolves to the tokens, or undefined when it failed
 */
function openAgents({ keys, algorithm }) {
  const agents = keys.map(({ fingerprint, privateKey }) => ({
    fingerprint,
    sign: openSigner(algorithm, privateKey),
  }));
  let next = 0;
  return async (connection) => {
    const { fingerprint, sign } = agents[next++ % agents.length];
    const asked = await connection.post({
      path: '/auth/agent/challenge',
      headers: JSON_TYPE,
      body: JSON.stringify({ key_fingerprint: fingerprint, scope: 'openid vault:read' }),
    });
    if (asked.status !== 200) return undefined;
    const challenge = JSON.parse(asked.body);
    const signature = sign(buildPayloadOfResponse(challenge));
    const verified = await connection.post({
      path: '/auth/agent/verify',
      headers: JSON_TYPE,
      body: JSON.stringify({ challenge_id: challenge.challenge_id, signature, algorithm }),
    });
    return verified.status === 200 ? JSON.parse(verified.body) : undefined;
  };
}

let recording;
let running = true;
/** Cycles until somebody is to be told; 0: nobody waits. */
let awaited = 0;
process.on('message', (/** @type {any} */ message) => {
  if (message === 'begin') recording = { latencies: [], failures: 0, begun: performance.now() };
  else if (message === 'end') {
    const { latencies, failures, begun } = recording;
    recording = undefined;
    process.send({ latencies, failures, elapsed: performance.now() - begun });
  } else if (message === 'exit') {
    running = false;
    process.disconnect();
    setTimeout(() => process.exit(), 1_000).unref();
  } else if (message.cycles !== undefined) awaited = message.cycles;
  else void run(message);
});

async function run({ scenario, connections, port, ...inputs }) {
  const open = SCENARIOS[scenario](inputs);
  const opened = await Promise.all(Array.from({ length: connections }, () => openConnection(port)));
  const cycles = await Promise.all(opened.map(open));
  process.send('ready');
  await Promise.all(cycles.map(repeat));
  for (const connection of opened) connection.close();
}

async function repeat(cycle) {
  while (running) {
    const begun = performance.now();
    const succeeded = await cycle();
    if (awaited > 0 && --awaited === 0) process.send('cycled');
    if (recording === undefined || begun < recording.begun) continue;
    if (succeeded) recording.latencies.push(performance.now() - begun);
    else recording.failures += 1;
  }
}
