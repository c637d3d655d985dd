// The messages between a role (api, worker) and its supervisor. A role also runs without a supervisor, in a container.
// The channel does not keep a stopping process alive.
import type { Socket } from 'node:net';

export type FromPart =
  | { readonly ready: true }
  | { readonly failed: string; readonly code?: string | undefined }
  | { readonly ask: 'listen' };

/** From the supervisor to a role; a `connection` has its socket attached. */
type ToPart = { readonly listen: 'yourself' | 'given' } | { readonly connection: true };

/** @returns true when a supervisor has the other end of the channel */
export function isSupervised(): boolean {
  return process.connected === true;
}

/** Reports to the supervisor that this process is ready. */
export function announceReady(): void {
  tell({ ready: true });
}

/**
 * Reports to the supervisor in one line why this process cannot start.
 * @param error its `code` (EADDRINUSE), or that of its cause, is sent too
 */
export function announceFailure(error: unknown): void {
  const { message = String(error), cause, ...own } = error as Error & { code?: string };
  const code = own.code ?? (cause as { code?: string } | undefined)?.code;
  tell({ failed: message.split('\n')[0] ?? message, code });
}

/** Sends a message to the supervisor; does nothing when the supervisor has ended. */
export function tell(message: FromPart): void {
  if (isSupervised()) process.send?.(message, undefined, undefined, () => undefined);
}

/** Calls `handler` for each message of the supervisor. */
export function hear(handler: (message: ToPart, socket: Socket | undefined) => void): void {
  process.on('message', (message, socket) => handler(message as ToPart, socket as Socket | undefined));
}

/**
 * Runs `handler` once on SIGTERM, on SIGINT or when the supervisor has ended. Then the process exits: with 0 when the
 * handler resolved, with 1 when it rejected. A second SIGINT exits immediately, unless it is npm's copy of the first.
 * @param handler switches readiness off first, then finishes the work under way
 */
export function onStop(handler: (reason: string) => Promise<void>): void {
  let since: number | undefined;
  const stop = (reason: string) => {
    if (since !== undefined) return;
    since = Date.now();
    handler(reason).then(
      () => process.exit(0),
      (error: unknown) => {
        process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
        process.exit(1);
      },
    );
  };
  // The reader of the output may end before this process; a failed write is then ignored.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  process.on('SIGTERM', () => stop('SIGTERM'));
  process.on('SIGINT', () => {
    if (since !== undefined && Date.now() - since > 300) process.exit(130);
    stop('SIGINT');
  });
  if (isSupervised()) process.once('disconnect', () => stop('the supervisor is gone'));
}
