// Ports of the tests that nobody else can get between their choice and their use.
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { tryPort } from '../../src/app/local/ports.ts';

const HOST = '127.0.0.1';
/** Below the range from which the system gives ports to everybody else. */
const FIRST = 12_000;
const BLOCK = 16;
const BLOCKS = 1_250;

/**
 * For a child process, which must be told its port: takes a block whose first port this process holds until it ends, as
 * a lock against all other test processes.
 * @param count at most 15
 * @returns so many free ports in a row
 */
export async function takePorts(count: number): Promise<number[]> {
  for (;;) {
    const first = FIRST + BLOCK * Math.floor(Math.random() * BLOCKS);
    const lock = await hold(first);
    if (lock === undefined) continue;
    const ports = Array.from({ length: count }, (_, n) => first + 1 + n);
    const free = await Promise.all(ports.map((port) => tryPort(HOST, port)));
    if (!free.includes(null)) return ports;
    lock.close();
  }
}

/** The same for one port. */
export async function takePort(): Promise<number> {
  const [port = 0] = await takePorts(1);
  return port;
}

/** For a server of this process whose address is needed before it: a listening socket on localhost to hand over. */
export async function openSocket(): Promise<{ port: number; handle: Server }> {
  const handle = createServer().listen(0, 'localhost');
  await once(handle, 'listening');
  return { port: (handle.address() as AddressInfo).port, handle };
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
