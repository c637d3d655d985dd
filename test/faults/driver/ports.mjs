// Ports of the driver's servers: below those that the system gives to connections, which would take one before its
// server listens, and below those of other tests (test/setup/ports.ts).
import { randomInt } from 'node:crypto';
import { tryPort } from '#dist/src/app/local/ports.js';

/** @returns {Promise<number>} a free port, of at most 15 bits: Temporal keeps one in such a column */
export async function findLowPort() {
  const port = randomInt(10_000, 12_000);
  return await tryPort('127.0.0.1', port).catch(findLowPort);
}
