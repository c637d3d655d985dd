// The load generator: a process of its own. Each connection sends its next request when the answer to the last one is there.
import { createPrivateKey, sign } from 'node:crypto';
import { openConnection } from './http-connection.mjs';
import { buildPayloadOfResponse } from './payload.mjs';

/** A cycle of each scenario on one connection; resolves to whether it succeeded. */
const SCENARIOS = {
  tokens: ({ authorization, form }) => {
    const request = {
      path: '/oauth/token',
      body: form,
      headers: { authorization, 'content-type': 'application/x-www-form-urlencoded' },
    };
    return async (connection) => (await connection.post(request)).status === 200;
  },
  challenges: ({ keys }) => {
    const ready = keys.map(({ fingerprint, pem }) => ({ fingerprint, key: createPrivateKey(pem) }));
    let next = 0;
    const headers = { 'content-type': 'application/json' };
    return async (connection) => {
      const { fingerprint, key } = ready[next++ % ready.length];
      const asked = await connection.post({
        path: '/auth/agent/challenge',
        headers,
        body: JSON.stringify({ key_fingerprint: fingerprint, scope: 'openid vault:read' }),
      });
      if (asked.status !== 200) return false;
      const challenge = JSON.parse(asked.body);
      const signature = sign(null, buildPayloadOfResponse(challenge), key).toString('base64');
      const verified = await connection.post({
        path: '/auth/agent/verify',
        headers,
        body: JSON.stringify({ challenge_id: challenge.challenge_id, signature, algorithm: 'ed25519' }),
      });
      return verified.status === 200;
    };
  },
};

let recording;
let running = true;
process.on('message', (message) => {
  if (message === 'begin') recording = { latencies: [], failures: 0, begun: performance.now() };
  else if (message === 'end') {
    const { latencies, failures, begun } = recording;
    recording = undefined;
    process.send({ latencies, failures, elapsed: performance.now() - begun });
  } else if (message === 'exit') {
    running = false;
    process.disconnect();
    setTimeout(() => process.exit(), 1_000).unref();
  } else void run(message);
});

async function run({ scenario, connections, port, ...inputs }) {
  const cycle = SCENARIOS[scenario](inputs);
  const opened = await Promise.all(Array.from({ length: connections }, () => openConnection(port)));
  process.send('ready');
  await Promise.all(opened.map((connection) => repeat(cycle, connection)));
}

async function repeat(cycle, connection) {
  while (running) {
    const begun = performance.now();
    const succeeded = await cycle(connection);
    if (recording === undefined || begun < recording.begun) continue;
    if (succeeded) recording.latencies.push(performance.now() - begun);
    else recording.failures += 1;
  }
  connection.close();
}
