// Asks the service for its event feed: a page, or the stream of Server-Sent Events that goes on after it
// (docs/events.md, "Waiting for the next event").
import { isObject, isText } from './claims.ts';
import { UnexpectedAnswer } from './client.ts';
import { readEventStream } from './event-stream.ts';
import { takeWhole } from './whole-answer.ts';

/** What a stream says: an event, or until when it is complete, with the cursor after it. */
export type FeedMessage = {
  readonly id: string;
  readonly event?: unknown;
  readonly completeUntil?: string;
};

type FeedAnswer =
  | { readonly page: Readonly<Record<string, unknown>> }
  | { readonly messages: AsyncIterable<FeedMessage> };

/** Milliseconds without a byte after which a request has failed. A stream says something each second. */
const SILENCE_MS = 5_000;

/**
 * Asks for the feed. A service without streams answers with a page.
 * @param fetch sends the access token, too
 * @param options.closing ends the request and its stream
 * @throws UnexpectedAnswer for a status other than 200; an Error when there is no answer, or none that can be read
 */
export async function requestFeed(
  fetch: typeof globalThis.fetch,
  url: string,
  { asStream, closing }: { asStream: boolean; closing: AbortSignal },
): Promise<FeedAnswer> {
  const watch = watchSilence(closing);
  const accept = asStream ? 'text/event-stream, application/json;q=0.5' : 'application/json';
  try {
    const asked = fetch(url, { headers: { accept }, redirect: 'error', signal: watch.signal });
    const response = await Promise.race([asked, watch.ended]);
    const { status, headers, body } = response;
    const isStream = status === 200 && headers.get('content-type')?.startsWith('text/event-stream') === true;
    if (isStream && body !== null) return { messages: readMessages(body, watch) };
    const whole = await takeWhole(response, watch.signal);
    const page: unknown = await whole.json().catch(() => undefined);
    if (status !== 200 || !isObject(page)) throw new UnexpectedAnswer(url, status, page);
    watch.end();
    return { page };
  } catch (error) {
    watch.end();
    throw error;
  }
}

async function* readMessages(
  body: ReadableStream<Uint8Array>,
  watch: ReturnType<typeof watchSilence>,
): AsyncGenerator<FeedMessage> {
  try {
    for await (const { event, id, data } of readEventStream(body, watch)) {
      if (event === 'end') return;
      const said: unknown = JSON.parse(data);
      if (event === 'message') yield { id, event: said };
      else if (event === 'complete' && isObject(said) && isText(said.complete_until))
        yield { id, completeUntil: said.complete_until };
    }
  } finally {
    watch.end();
  }
}

/**
 * @returns a signal that aborts after a silence, or with `closing`, and a promise that rejects then; `onBytes` begins
 *   the silence anew
 */
function watchSilence(closing: AbortSignal) {
  const ending = new AbortController();
  const fail = (): void => ending.abort(new Error('The feed says nothing any more.'));
  let timer = setTimeout(fail, SILENCE_MS);
  const close = (): void => ending.abort(closing.reason);
  closing.addEventListener('abort', close);
  const { signal } = ending;
  const ended = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason));
  });
  // Nobody may wait for it any more.
  ended.catch(() => undefined);
  if (closing.aborted) close();
  return {
    signal,
    ended,
    onBytes: (): void => {
      clearTimeout(timer);
      timer = setTimeout(fail, SILENCE_MS);
    },
    end: (): void => {
      clearTimeout(timer);
      closing.removeEventListener('abort', close);
    },
  };
}
