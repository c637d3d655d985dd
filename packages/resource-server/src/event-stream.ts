// Reads Server-Sent Events (HTML Standard §9.2.6) from the answer of any `fetch`, which need not know `EventSource`.

/** One event: its name, `message` by default; the last id that the stream has said; and its data. */
export type SentEvent = { readonly event: string; readonly id: string; readonly data: string };

/** The most characters that an event may have; one of the feed has 256 KiB and a little. */
const LONGEST_EVENT = 2_000_000;

/**
 * Reads the events until the end of the stream; an event without its blank line is dropped.
 * @param options.onBytes called for all that comes, comments too
 * @param options.signal ends the reading. The one of `fetch` is not enough: Node forgets it once its request was
 *   collected (https://github.com/nodejs/undici/issues/3644)
 * @throws Error for an event that is too long, and the reason of the signal
 */
export async function* readEventStream(
  body: ReadableStream<Uint8Array>,
  { onBytes, signal }: { onBytes?: (() => void) | undefined; signal?: AbortSignal | undefined } = {},
): AsyncGenerator<SentEvent> {
  const parse = createParser();
  const decoder = new TextDecoder();
  const reader = body.getReader();
  const cancel = (): void => void reader.cancel(signal?.reason).catch(() => undefined);
  signal?.addEventListener('abort', cancel);
  try {
    signal?.throwIfAborted();
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      onBytes?.();
      yield* parse(decoder.decode(read.value, { stream: true }));
    }
    signal?.throwIfAborted();
  } finally {
    signal?.removeEventListener('abort', cancel);
    // The connection ends here also when the events are not wanted any more.
    await reader.cancel().catch(() => undefined);
  }
}

/** @returns a function that takes the next text and gives the events that it completes */
export function createParser(): (text: string) => SentEvent[] {
  let rest = '';
  let hasReturned = false;
  let size = 0;
  let id = '';
  let event = '';
  let data: string[] = [];

  const readLine = (line: string): SentEvent[] => {
    if (line === '') {
      const done =
        data.length === 0 ? [] : [{ event: event === '' ? 'message' : event, id, data: data.join('\n') }];
      [event, data, size] = ['', [], 0];
      return done;
    }
    const colon = line.indexOf(':');
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (name === 'data') data.push(value);
    else if (name === 'event') event = value;
    else if (name === 'id' && !value.includes('\0')) id = value;
    return [];
  };

  return (text) => {
    if (text === '') return [];
    // A line's end may be cut in two.
    const all = rest + (hasReturned && text.startsWith('\n') ? text.slice(1) : text);
    hasReturned = text.endsWith('\r');
    const lines = all.split(/\r\n|\n|\r/);
    rest = lines.pop() ?? '';
    size += text.length;
    const events = lines.flatMap(readLine);
    if (size > LONGEST_EVENT) throw new Error('The stream has an event that is too long.');
    return events;
  };
}
