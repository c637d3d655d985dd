// TCP ports of this machine: finds free ports, and builds the error for a busy one.
import { createServer } from 'node:net';
import { LocalStackError } from './local-stack-error.ts';

/**
 * @param port 0 for any
 * @returns the port when it could be bound, null when another process has it
 * @throws the system's error for anything but a busy port
 */
export async function tryPort(host: string, port: number): Promise<number | null> {
  const server = createServer();
  return await new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(null);
      else reject(error);
    });
    server.listen({ host, port, exclusive: true }, () => {
      const address = server.address();
      const bound = address !== null && typeof address === 'object' ? address.port : port;
      server.close(() => resolve(bound));
    });
  });
}

/**
 * @param preferred used when it is free
 * @returns a free port on 127.0.0.1
 */
export async function findFreePort(preferred?: number | undefined): Promise<number> {
  const kept = preferred === undefined ? null : await tryPort('127.0.0.1', preferred);
  const port = kept ?? (await tryPort('127.0.0.1', 0));
  if (port === null) throw new LocalStackError('No free TCP port is left on 127.0.0.1.');
  return port;
}

/**
 * Checks that the port of a setting is free on this machine.
 * @throws LocalStackError with one line when it is not free
 */
export async function requirePort(needed: {
  host: string;
  port: number;
  variable: string;
  part: string;
}): Promise<void> {
  const { host, port, variable, part } = needed;
  const bound = await tryPort(host, port).catch((error: unknown) => {
    throw explainListen(error, needed);
  });
  if (bound === null) throw portBusy({ port, variable, part });
}

/**
 * Turns the error of a server that could not listen into one line for the operator.
 * @returns a LocalStackError with the error as its cause; any other error is returned unchanged
 */
export function explainListen(
  error: unknown,
  needed: { host: string; port: number; variable: string; part: string },
): unknown {
  const { code, syscall = '' } = error as NodeJS.ErrnoException;
  if (!['listen', 'bind', 'getaddrinfo'].includes(syscall)) return error;
  if (code === 'EADDRINUSE') return portBusy(needed, error);
  const { host, port, variable, part } = needed;
  return new LocalStackError(
    `${part} cannot listen on ${host}:${port} (${code}): choose another port with ${variable}, or another address.`,
    { cause: error },
  );
}

/** @returns the error for a port that another process uses */
export function portBusy(
  { port, variable, part }: { port: number; variable: string; part: string },
  cause?: unknown,
): LocalStackError {
  return new LocalStackError(
    `Port ${port} is in use, and ${part} needs it: stop the other program, or set ${variable} to a free port.`,
    { cause },
  );
}
