// TCP ports of this machine: finds free ports, and builds the error for a busy one.
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { LocalStackError } from './local-stack-error.ts';

/** A port with the setting that chooses it and the part that needs it. */
export type NeededPort = { host: string; port: number; variable: string; part: string };

/**
 * Listens for a moment.
 * @param port 0 for any
 * @returns the port
 * @throws the system's error: EADDRINUSE when another process has it
 */
export async function tryPort(host: string, port: number): Promise<number> {
  const server = createServer().listen({ host, port, exclusive: true });
  await once(server, 'listening');
  const { port: bound } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return bound;
}

/**
 * @param preferred used when it is free
 * @returns a free port on 127.0.0.1
 */
export async function findFreePort(preferred = 0): Promise<number> {
  return await tryPort('127.0.0.1', preferred).catch(() => tryPort('127.0.0.1', 0));
}

/** @throws LocalStackError with one line when the port of a setting is not free */
export async function requirePort(needed: NeededPort): Promise<void> {
  await tryPort(needed.host, needed.port).catch((error: unknown) => {
    throw explainListen(error, needed);
  });
}

/**
 * Turns the error of a server that could not listen into one line for the operator.
 * @returns a LocalStackError with the error as its cause; any other error is returned unchanged
 */
export function explainListen(error: unknown, { host, port, variable, part }: NeededPort): unknown {
  const { code, syscall = '' } = error as NodeJS.ErrnoException;
  if (!['listen', 'bind', 'getaddrinfo'].includes(syscall)) return error;
  const line =
    code === 'EADDRINUSE'
      ? `Port ${port} is in use, and ${part} needs it: stop the other program, or set ${variable} to a free port.`
      : `${part} cannot listen on ${host}:${port} (${code}): choose another port with ${variable}, or another address.`;
  return new LocalStackError(line, { cause: error });
}
