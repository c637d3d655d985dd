// Requests that end in time with their whole answer, whatever `fetch` does with its signal. The one of Node forgets it
// once its request was collected (https://github.com/nodejs/undici/issues/3644), and would read a body for ever.

/**
 * Sends a request and reads the whole body of its answer.
 * @param init `signal` ends the exchange, too
 * @param milliseconds for headers and body together
 * @returns the answer, with its body in memory
 * @throws DOMException `TimeoutError` when the time is over; the reason of the signal; what `fetch` throws
 */
export async function fetchWhole(
  fetch: typeof globalThis.fetch,
  url: string,
  init: RequestInit,
  milliseconds: number,
): Promise<Response> {
  const { signal: given } = init;
  const ending = new AbortController();
  const { signal } = ending;
  const ended = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason));
  });
  const stop = (): void => ending.abort(given?.reason);
  const late = new DOMException(`There is no whole answer after ${milliseconds} ms.`, 'TimeoutError');
  const timer = setTimeout(() => ending.abort(late), milliseconds);
  const exchange = async (): Promise<Response> => takeWhole(await fetch(url, { ...init, signal }), signal);
  try {
    given?.addEventListener('abort', stop);
    const answer = Promise.race([exchange(), ended]);
    if (given?.aborted === true) stop();
    return await answer;
  } finally {
    clearTimeout(timer);
    given?.removeEventListener('abort', stop);
  }
}

/** Reads the whole body of an answer. @param signal ends the reading, and the connection with it */
export async function takeWhole(response: Response, signal: AbortSignal): Promise<Response> {
  if (response.body === null) return response;
  const reader: ReadableStreamDefaultReader<Uint8Array> = response.body.getReader();
  const cancel = (): void => void reader.cancel(signal.reason).catch(() => undefined);
  signal.addEventListener('abort', cancel);
  if (signal.aborted) cancel();
  const chunks: Uint8Array[] = [];
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) chunks.push(read.value);
  } finally {
    signal.removeEventListener('abort', cancel);
  }
  signal.throwIfAborted();
  const { status, statusText, headers } = response;
  return new Response(concat(chunks), { status, statusText, headers });
}

/** @returns null for an empty body, which some statuses must have */
function concat(chunks: readonly Uint8Array[]): Uint8Array<ArrayBuffer> | null {
  const length = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
  if (length === 0) return null;
  const whole = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}
