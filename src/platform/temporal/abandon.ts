// Stops waiting for a call to Temporal when the caller no longer needs the answer.

/**
 * Settles like `work`, or rejects with the signal's reason when the signal is aborted. The work then continues, and its
 * result is ignored.
 * @param work safe to be repeated or left incomplete
 */
export function abandonOn<Result>(signal: AbortSignal, work: Promise<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    const leave = () => reject(signal.reason);
    if (signal.aborted) leave();
    signal.addEventListener('abort', leave, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave));
  });
}
