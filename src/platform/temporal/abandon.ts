// Stops waiting for a call to Temporal when the caller no longer needs the answer.

/** Settles like `work`, or rejects with the signal's reason; the work then goes on, and its result is ignored. */
export function abandonOn<Result>(signal: AbortSignal, work: Promise<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    const leave = () => reject(signal.reason);
    if (signal.aborted) leave();
    signal.addEventListener('abort', leave, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave));
  });
}
