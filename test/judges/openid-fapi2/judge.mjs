// The OpenID conformance suite's plan for the FAPI 2.0 Security Profile (final): client credentials with
// private_key_jwt and DPoP. The suite is a Java program that runs beside this: OPENID_SUITE is its address
// (docs/contract-testing.md).
import { generateKeyPairSync } from 'node:crypto';
import { request } from 'node:https';
import { createManagement, startStack } from '../stack.mjs';

const PLAN = 'fapi2-security-profile-final-test-plan';
const VARIANT = {
  openid: 'plain_oauth',
  client_auth_type: 'private_key_jwt',
  sender_constrain: 'dpop',
  fapi_profile: 'fapi_client_credentials_grant',
};

/** Seconds that a module may take. */
const PATIENCE = 300;

/** Sends a request to the suite, whose certificate is its own. */
function callSuite(method, path, body) {
  const url = new URL(path, process.env.OPENID_SUITE);
  return new Promise((resolve, reject) => {
    const headers = body === undefined ? {} : { 'content-type': 'application/json' };
    const sent = request(url, { method, headers, rejectUnauthorized: false }, (response) => {
      const chunks = [];
      response.on('data', (chunk) => chunks.push(chunk));
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        if (response.statusCode >= 300)
          reject(new Error(`${path}: ${response.statusCode} ${text.slice(0, 300)}`));
        else resolve(text === '' ? undefined : JSON.parse(text));
      });
    });
    sent.on('error', reject);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

/** A client with a PS256 key, so that the module for RS256 has a key to sign with. */
function makeClient(kid) {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const named = { kid, alg: 'PS256', use: 'sig' };
  return {
    secret: { ...privateKey.export({ format: 'jwk' }), ...named },
    open: { ...publicKey.export({ format: 'jwk' }), ...named },
  };
}

async function runModule(plan, { testModule, variant = {} }) {
  const query = new URLSearchParams({ test: testModule, plan, variant: JSON.stringify(variant) });
  const { id } = await callSuite('POST', `/api/runner?${query}`);
  for (let waited = 0; waited < PATIENCE; waited += 1) {
    const info = await callSuite('GET', `/api/info/${id}`);
    if (info.status === 'CONFIGURED') await callSuite('POST', `/api/runner/${id}`);
    if (info.status === 'FINISHED' || info.status === 'INTERRUPTED') {
      const log = await callSuite('GET', `/api/log/${id}`);
      const told = log.filter(({ result }) => result === 'FAILURE' || result === 'WARNING');
      return { result: info.result, told: told.map(({ result, src, msg }) => `${result} ${src}: ${msg}`) };
    }
    await new Promise((resolve) => setTimeout(resolve, 1_000));
  }
  return { result: 'TIMEOUT', told: [] };
}

export const judge = {
  name: 'openid-fapi2',
  version: '5.2.4',
  what: 'FAPI 2.0 Security Profile (final): client credentials, private_key_jwt, DPoP',
  needs: ['openssl', '$OPENID_SUITE'],
  run: async (context) => {
    const { say } = context;
    // Only for requests of this process: the certificate of the stack is made for this run.
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
    const stack = await startStack(context, { isTls: true });
    try {
      const manage = createManagement(stack.tenant);
      const clients = [makeClient('first'), makeClient('second')];
      const made = [];
      for (const { open } of clients)
        made.push(
          await manage('POST', '/api/v1/applications', {
            name: 'conformance',
            scopes: ['agents:read', 'tenant:write'],
            jwks: { keys: [open] },
          }),
        );
      await manage('PATCH', '/api/v1/tenant', { security_profile: 'fapi2' });
      const [first, second] = made.map(({ client_id }, index) => ({
        client_id,
        scope: 'agents:read',
        jwks: { keys: [clients[index].secret] },
        dpop_signing_alg: 'ES256',
      }));
      const configuration = {
        alias: 'countersign-fapi2',
        description: 'Countersign',
        server: { discoveryUrl: `${stack.tenant.issuer_url}/.well-known/openid-configuration` },
        client: first,
        client2: second,
        resource: { resourceUrl: `${stack.tenant.base_url}/api/v1/agents` },
      };
      const query = new URLSearchParams({ planName: PLAN, variant: JSON.stringify(VARIANT) });
      const plan = await callSuite('POST', `/api/plan?${query}`, configuration);
      const counts = { passed: 0, failed: 0, warnings: [] };
      for (const module of plan.modules) {
        const { result, told } = await runModule(plan.id, module);
        say(`${result} ${module.testModule}`);
        for (const line of told) counts.warnings.push(`${module.testModule}: ${line}`);
        if (result === 'PASSED' || result === 'WARNING') counts.passed += 1;
        else if (result === 'SKIPPED') counts.warnings.push(`${module.testModule}: skipped`);
        else counts.failed += 1;
      }
      return counts;
    } finally {
      delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
      await stack.close();
    }
  },
};
