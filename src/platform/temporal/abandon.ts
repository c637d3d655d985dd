// Stops waiting for a call to Temporal when its caller no longer needs the answer. Only for calls that are safe to
// repeat.

/**
 * Settles as `work` does, or rejects with the signal's reason once that is aborted: the work goes on, and its end is
 * ignored.
 * @param work safe to be repeated, or left half done
 */
export function abandonOn<Result>(signal: AbortSignal, work: Promise<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    const leave = () => reject(signal.reason);
    if (signal.aborted) leave();
    signal.addEventListener('abort', leave, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave));
  });
}
