// Starts the floor of the requests, and makes what its load needs.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { findFreePort } from '#dist/src/app/local/ports.js';
import { pinToCore } from './processes.mjs';
import { basic } from './service.mjs';

const FLOOR = fileURLToPath(new URL('./floor.mjs', import.meta.url));

/**
 * @param url of the database in which it makes its tables
 * @param keys of the agents, all of one algorithm
 * @param clientKey of the application, which otherwise has a secret
 * @returns `child`, and the target of a load: `pid`, `port`, `inputs`
 */
export async function startFloor(url, { algorithm, keys, clientKey = undefined }) {
  const port = await findFreePort();
  const child = fork(FLOOR, [url, String(port), algorithm], {
    env: { ...process.env, NODE_ENV: 'production' },
  });
  pinToCore(child.pid);
  const named = keys.map((key, index) => ({ ...key, fingerprint: `floor-${index}` }));
  child.send({
    keys: named.map(({ fingerprint, publicKey }) => ({ fingerprint, publicKey })),
    clientKey: clientKey?.publicKey,
  });
  const [{ credentials }] = await once(child, 'message');
  const { privateKey } = clientKey ?? {};
  const clients = clientKey && [{ id: credentials[0], issuer: `http://localhost:${port}`, privateKey }];
  const inputs = { ...inputsOf(credentials, algorithm, named), clients };
  return { child, pid: child.pid, port, inputs };
}

/** What the load generator needs of a target: the application's credentials and the agents' keys. */
export function inputsOf(credentials, algorithm, keys) {
  return {
    authorization: basic(...credentials),
    form: 'grant_type=client_credentials&scope=openid',
    algorithm,
    keys,
  };
}
