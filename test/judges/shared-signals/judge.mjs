// The transmitter plans of the OpenID conformance suite for Shared Signals, push and poll, and those of the CAEP
// interoperability profile. OPENID_SUITE is a running suite in development mode, OPENID_SUITE_CA the file
// of its certificate (docs/contract-testing.md says how it is started). The service itself is started here, behind TLS,
// as the suite wants it.
import { execFile, spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { connect, createServer as createPort } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createServer } from 'node:tls';
import { promisify } from 'node:util';

const { OPENID_SUITE: SUITE, OPENID_SUITE_CA: SUITE_CA } = process.env;
const PLANS = ['openid-ssf-transmitter-test-plan', 'openid-ssf-transmitter-caep-test-plan'];

export const judge = {
  name: 'openid-shared-signals',
  version: '5.2.4',
  what: 'Shared Signals transmitter and CAEP interoperability, push and poll',
  needs: ['openssl', '$OPENID_SUITE', '$OPENID_SUITE_CA'],

  /** @param {{ say: (line: string) => void, folder: string }} context */
  async run({ say, folder }) {
    const service = await startService(folder);
    const totals = { passed: 0, failed: 0, warnings: [] };
    try {
      for (const plan of PLANS)
        for (const delivery of ['push', 'poll']) {
          say(`${plan}, ${delivery}`);
          for (const { module, result, remarks } of await runPlan(service, plan, delivery)) {
            if (result === 'PASSED' || result === 'WARNING') totals.passed += 1;
            else totals.failed += 1;
            if (result !== 'PASSED') totals.warnings.push(`${module}, ${delivery}: ${result}: ${remarks}`);
          }
        }
    } finally {
      await service.stop();
    }
    return totals;
  },
};

/** Runs the modules of a plan one after the other. @returns what became of each */
async function runPlan(service, plan, delivery) {
  const agent = await service.call('POST', '/api/v1/agents', { name: 'judged' });
  const { issuer } = service;
  const config = {
    alias: 'countersign',
    ssf: {
      subjects: { valid: { format: 'iss_sub', iss: issuer, sub: agent.id } },
      transmitter: {
        access_token: await service.issueToken(),
        issuer,
        push_endpoint_authorization_header: 'Bearer of-the-judge',
      },
    },
  };
  const isInterop = plan.includes('caep');
  const variant = {
    ssf_server_metadata: 'discovery',
    ssf_auth_mode: 'static',
    ssf_delivery_mode: delivery,
    ...(isInterop ? {} : { ssf_profile: 'default' }),
  };
  const query = new URLSearchParams({ planName: plan, variant: JSON.stringify(variant) });
  const { id, modules } = await askSuite('POST', `/api/plan?${query}`, config);
  const results = [];
  for (const { testModule, variant: own } of modules) {
    const run = new URLSearchParams({ test: testModule, plan: id, variant: JSON.stringify(own ?? {}) });
    const { id: runId } = await askSuite('POST', `/api/runner?${run}`);
    results.push({
      module: testModule,
      ...(await endOf(runId, isInterop ? () => causeEvents(service) : undefined)),
    });
  }
  return results;
}

/** @param cause makes events happen, again and again, for a module that waits for them */
async function endOf(runId, cause) {
  let info = {};
  for (let seconds = 0; seconds < 180 && !['FINISHED', 'INTERRUPTED'].includes(info.status); seconds += 1) {
    await sleep(1_000);
    info = await askSuite('GET', `/api/info/${runId}`);
    if (info.status === 'CONFIGURED') await askSuite('POST', `/api/runner/${runId}`);
    if (seconds % 12 === 11) await cause?.();
  }
  const log = await askSuite('GET', `/api/log/${runId}`);
  const remarks = log.filter(({ result }) => ['FAILURE', 'WARNING', 'SKIPPED'].includes(result));
  return {
    result: info.result ?? info.status,
    remarks: remarks.map(({ src, msg }) => `${src}: ${msg}`).join('; '),
  };
}

/** A new key, and the end of its agent: a credential-change and a session-revoked. */
async function causeEvents({ call }) {
  const { id } = await call('POST', '/api/v1/agents', { name: 'judged' });
  const key = generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'pem' });
  await call('POST', `/api/v1/agents/${id}/keys`, { algorithm: 'ed25519', public_key: key });
  await call('PATCH', `/api/v1/agents/${id}/suspend`, {});
}

/** `npm start` on free ports, with TLS before it. */
async function startService(folder) {
  const [port, secure, temporal, ui, metrics] = await Promise.all([1, 2, 3, 4, 5].map(findFreePort));
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'];
  const asked = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', key, '-out', cert, ...subject];
  await promisify(execFile)('openssl', asked);
  const tls = createServer({ key: readFileSync(key), cert: readFileSync(cert) }, (client) => {
    const plain = connect(port, '127.0.0.1');
    client.on('error', () => plain.destroy()).pipe(plain);
    plain.on('error', () => client.destroy()).pipe(client);
  }).listen(secure);
  const env = {
    ...process.env,
    PORT: port,
    PUBLIC_URL: `https://localhost:${secure}`,
    DATA_DIR: join(folder, 'data'),
    TEMPORAL_PORT: temporal,
    TEMPORAL_UI_PORT: ui,
    METRICS_PORT: metrics,
    WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8,::1/128',
    WEBHOOK_CA_FILE: SUITE_CA,
  };
  const stack = spawn(process.execPath, ['dist/src/main.js', 'start'], {
    env,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = new Promise((resolve) => stack.once('exit', resolve));
  await new Promise((resolve, reject) => {
    let text = '';
    stack.stdout.on('data', (chunk) => {
      text += chunk;
      if (text.includes('Countersign is ready')) resolve(undefined);
    });
    stack.once('exit', () => reject(new Error(`the service has not started: ${text}`)));
  });
  const tenant = JSON.parse(readFileSync(join(folder, 'data', 'demo-tenant.json'), 'utf8'));
  const ask = (method, url, body, headers) => askJson(method, url, { body, headers, ca: readFileSync(cert) });
  const client = Buffer.from(`${tenant.client_id}:${tenant.client_secret}`).toString('base64');
  /** A token of the tenant's first application, which lives for minutes. */
  const issueToken = async () => {
    const form = 'grant_type=client_credentials';
    const headers = { authorization: `Basic ${client}`, 'content-type': 'application/x-www-form-urlencoded' };
    return (await ask('POST', `${tenant.issuer_url}/oauth/token`, form, headers)).access_token;
  };
  return {
    issuer: tenant.issuer_url,
    issueToken,
    call: async (method, path, body) =>
      ask(method, tenant.base_url + path, JSON.stringify(body), {
        authorization: `Bearer ${await issueToken()}`,
        'content-type': 'application/json',
      }),
    stop: async () => {
      stack.kill('SIGINT');
      await ended;
      tls.close();
    },
  };
}

const askSuite = (method, path, body) =>
  askJson(method, SUITE + path, {
    body: body && JSON.stringify(body),
    headers: { 'content-type': 'application/json' },
    ca: readFileSync(SUITE_CA),
  });

/** @returns the answer's body @throws Error for a refusal */
function askJson(method, url, { body, headers, ca }) {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers, agent: new Agent({ ca }) }, (answer) => {
      let text = '';
      answer.on('data', (chunk) => {
        text += chunk;
      });
      answer.on('end', () => {
        if (answer.statusCode >= 400)
          reject(new Error(`${method} ${url}: ${answer.statusCode} ${text.slice(0, 500)}`));
        else resolve(text === '' ? {} : JSON.parse(text));
      });
    });
    sent.on('error', (error) => reject(new Error(`${method} ${url}: ${error.message}`))).end(body);
  });
}

function findFreePort() {
  return new Promise((resolve) => {
    const server = createPort().listen(0, '127.0.0.1', () => {
      const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
      server.close(() => resolve(port));
    });
  });
}
