// What a role (api, worker) reports to its supervisor. A role also runs without a supervisor, in a container. The
// channel does not keep a stopping process alive.

export type FromPart = { readonly ready: true } | { readonly failed: string };

/** Reports to the supervisor that this process is ready. */
export function announceReady(): void {
  tell({ ready: true });
}

/** Reports to the supervisor in one line why this process cannot start. */
export function announceFailure(error: unknown): void {
  const { message = String(error) } = error as Partial<Error>;
  tell({ failed: message.split('\n')[0] ?? message });
}

/** Sends a message to the supervisor; does nothing when there is none, or when it has ended. */
function tell(message: FromPart): void {
  if (process.connected) process.send?.(message, undefined, undefined, () => undefined);
}

/**
 * Lets SIGTERM end this process until `onStop` is called. Without a listener the first process of a container would not
 * hear the signal.
 */
export function endUntilStarted(): void {
  process.on('SIGTERM', endNow);
}

function endNow(): void {
  process.off('SIGTERM', endNow);
  process.kill(process.pid, 'SIGTERM');
  // Only the first process of a container is still here.
  setImmediate(() => process.exit(143));
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
  process.on('SIGTERM', () => stop('SIGTERM')).off('SIGTERM', endNow);
  process.on('SIGINT', () => {
    if (since !== undefined && Date.now() - since > 300) process.exit(130);
    stop('SIGINT');
  });
  if (process.connected) process.once('disconnect', () => stop('the supervisor is gone'));
}
