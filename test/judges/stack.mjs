// Starts the whole service for a judge, behind TLS where the judge wants https, and ends it again.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import net from 'node:net';
import { join } from 'node:path';
import tls from 'node:tls';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** Modern suites only (RFC 9325 §4.2). */
const CIPHERS = [
  'TLS_AES_128_GCM_SHA256',
  'TLS_AES_256_GCM_SHA384',
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
].join(':');

export async function freePort() {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Accepts TLS on a free port, with a certificate of its own, and passes everything on. */
async function startTls(folder, target) {
  const [key, cert] = [join(folder, 'tls.key'), join(folder, 'tls.crt')];
  const request =
    'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost';
  const made = spawnSync('openssl', [...request.split(' '), '-keyout', key, '-out', cert]);
  if (made.status !== 0) throw new Error(`no certificate: ${made.stderr}`);
  /** @type {tls.TlsOptions} */
  const options = {
    key: readFileSync(key),
    cert: readFileSync(cert),
    minVersion: 'TLSv1.2',
    ciphers: CIPHERS,
  };
  const server = tls.createServer({ ...options, honorCipherOrder: true, noDelay: true }, (socket) => {
    const onward = net.connect({ port: target, host: '127.0.0.1', noDelay: true });
    socket.on('error', () => onward.destroy());
    onward.on('error', () => socket.destroy());
    socket.pipe(onward).pipe(socket);
  });
  server.on('tlsClientError', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

/**
 * Starts the service on free ports in a folder of its own.
 * @param options.isTls https in front of it
 * @returns the demo tenant with its addresses and credentials, and `close`
 */
export async function startStack({ say, folder }, { isTls = false } = {}) {
  const port = await freePort();
  const front = isTls ? await startTls(folder, port) : undefined;
  const address = /** @type {import('node:net').AddressInfo | undefined} */ (front?.address());
  const publicUrl = address ? `https://localhost:${address.port}` : `http://localhost:${port}`;
  const data = join(folder, 'data');
  say(`starting the service at ${publicUrl}`);
  const [temporal, ui, metrics] = await Promise.all([freePort(), freePort(), freePort()]);
  const env = {
    ...process.env,
    PORT: String(port),
    PUBLIC_URL: publicUrl,
    DATA_DIR: data,
    METRICS_PORT: String(metrics),
    TEMPORAL_PORT: String(temporal),
    TEMPORAL_UI_PORT: String(ui),
  };
  const child = spawn(process.execPath, [join(ROOT, 'scripts', 'start.mjs'), '--json'], {
    cwd: ROOT,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => output.push(chunk));
  const ended = once(child, 'exit');
  const close = async () => {
    child.kill('SIGINT');
    await ended;
    front?.close();
  };
  const isReady = () => Buffer.concat(output).includes('"status":"ready"');
  for (let waited = 0; !isReady(); waited += 1) {
    if (child.exitCode !== null || waited > 900) {
      await close();
      throw new Error(`the service did not start: ${Buffer.concat(output).toString().slice(-2_000)}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  return { tenant: JSON.parse(readFileSync(join(data, 'demo-tenant.json'), 'utf8')), publicUrl, close };
}

/** Calls the management of a tenant with the token of its first application. @throws for anything but 2xx */
export function createManagement(tenant) {
  const basic = Buffer.from(`${tenant.client_id}:${tenant.client_secret}`).toString('base64');
  return async (method, path, body) => {
    const issued = await fetch(`${tenant.issuer_url}/oauth/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${basic}` },
      body: new URLSearchParams({ grant_type: 'client_credentials' }),
    });
    const { access_token } = await issued.json();
    const response = await fetch(tenant.base_url + path, {
      method,
      headers: { authorization: `Bearer ${access_token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text === '' ? undefined : JSON.parse(text);
  };
}
