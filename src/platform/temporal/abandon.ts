// Waits for a call to Temporal no longer than somebody wants its answer. It must never be used for what cannot be repeated.

/**
 * Settles as `work` does, or rejects with the signal's reason once that is aborted: the work goes on, and nobody hears of its end.
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
