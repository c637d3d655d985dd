// Ports of the tests that nobody else can get between their choice and their use.
import { createServer, type Server } from 'node:net';
import { tryPort } from '../../src/app/local/ports.ts';

const HOST = '127.0.0.1';
/** Below the range from which the system gives ports to everybody else. */
const FIRST = 12_000;
const BLOCK = 16;
const BLOCKS = 1_250;

/**
 * For what must be told its port. Takes a block whose first port this process holds until it ends, as a lock against
 * all other test processes.
 * @param count at most 15
 * @returns so many free ports in a row
 */
export async function takePorts(count: number): Promise<number[]> {
  for (;;) {
    const first = FIRST + BLOCK * Math.floor(Math.random() * BLOCKS);
    const lock = await hold(first);
    if (lock === undefined) continue;
    const ports = Array.from({ length: count }, (_, n) => first + 1 + n);
    const tries = await Promise.allSettled(ports.map((port) => tryPort(HOST, port)));
    if (tries.every(({ status }) => status === 'fulfilled')) return ports;
    lock.close();
  }
}

/** The same for one port. */
export async function takePort(): Promise<number> {
  const [port = 0] = await takePorts(1);
  return port;
}

function hold(port: number): Promise<Server | undefined> {
  const server = createServer().unref();
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(undefined);
      else reject(error);
    });
    server.listen({ host: HOST, port, exclusive: true }, () => resolve(server));
  });
}
