// What the signatures of a delivery cost its process: microseconds of CPU, beside the one HMAC of the floor.
import { createHmac, generateKeyPairSync, randomBytes, randomUUID } from 'node:crypto';
import {
  generateIssuerKey,
  loadSigningKey,
  signClaims,
} from '../dist/src/authentication/issuer/jws-signing.service.js';
import { signedHeaders } from '../dist/src/webhooks/signing/signed-headers.node.js';

const SUITE = 'service-webhook-v1';
const CASES = {
  'the suite alone': [SUITE],
  'both usual ones': [SUITE, 'v1'],
  'and v1a': [SUITE, 'v1', 'v1a'],
  'and jwt': [SUITE, 'v1', 'jwt'],
  'all four': [SUITE, 'v1', 'v1a', 'jwt'],
};
const BATCH = 500;
const BODY = Buffer.alloc(500, 'x');

/** Rounds of all cases in turn. @returns microseconds of CPU a delivery: the floor's, and by case */
export async function measureSignatures({ rounds }) {
  const { publicJwk, pkcs8 } = await generateIssuerKey('ES256');
  const key = loadSigningKey(publicJwk.kid, 'ES256', pkcs8);
  const signer = {
    issuer: 'https://auth.example.com',
    keys: [generateKeyPairSync('ed25519').privateKey],
    sign: (claims, { typ }) => signClaims(key, claims, typ),
  };
  const secrets = { current: `whsec_${randomBytes(32).toString('base64')}` };
  const sign = (signatures) => () =>
    signedHeaders({
      ...{ signatures, signer, secrets, body: BODY, maxAge: 300, eventType: 'bench.test.signed' },
      ...{ deliveryId: randomUUID(), origin: 'https://hooks.example.com', timestamp: 1_800_000_000 },
    });
  const floor = () => createHmac('sha256', secrets.current).update(randomUUID()).update(BODY).digest('hex');
  const measured = Object.entries({
    floor,
    ...Object.fromEntries(Object.entries(CASES).map(([name, chosen]) => [name, sign(chosen)])),
  });
  for (const [, run] of measured) costOf(run);
  const costs = Object.fromEntries(measured.map(([name]) => [name, []]));
  for (let round = 0; round < rounds * 10; round += 1)
    for (const [name, run] of measured) costs[name].push(costOf(run));
  return Object.fromEntries(measured.map(([name]) => [name, medianOf(costs[name])]));
}

export function describeSignatures(figures) {
  const { floor, ...cases } = figures;
  return [
    `signatures of a delivery of ${BODY.length} bytes: µs of CPU, ratio to the one HMAC of the floor`,
    `  ${'floor'.padEnd(18)} ${floor.toFixed(1).padStart(7)}`,
    ...Object.entries(cases).map(
      ([name, cost]) =>
        `  ${name.padEnd(18)} ${cost.toFixed(1).padStart(7)}  ${(cost / floor).toFixed(1).padStart(5)}`,
    ),
  ].join('\n');
}

function costOf(run) {
  const before = process.cpuUsage();
  for (let n = 0; n < BATCH; n += 1) run();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / BATCH;
}

const medianOf = (values) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)];
