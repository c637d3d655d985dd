// Sends an answer that goes on: Server-Sent Events (HTML Standard §9.2). The client's pace is that of the stream.
import type { ServerResponse } from 'node:http';
import Negotiator from 'negotiator';
import type { Context } from './request-state.ts';

export const EVENT_STREAM = 'text/event-stream';

/** @returns whether the client asks for events rather than for JSON (RFC 9110 §12.5.1) */
export const prefersStream = (accept: string | undefined): boolean =>
  accept !== undefined &&
  new Negotiator({ headers: { accept } }).mediaType(['application/json', EVENT_STREAM]) === EVENT_STREAM;

/** One event of a stream. `text` is JSON; `id` is what a client sends back as `Last-Event-ID`. */
export type StreamEvent = {
  readonly event?: string | undefined;
  readonly id?: string | undefined;
  readonly text: string;
};

/** Writes an event (HTML Standard §9.2.5). JSON of `JSON.stringify` has no line breaks, nor have ids and names here. */
export function writeEvent({ event, id, text }: StreamEvent): string {
  const name = event === undefined ? '' : `event: ${event}\n`;
  const place = id === undefined ? '' : `id: ${id}\n`;
  return `${name}${place}data: ${text}\n\n`;
}

/**
 * Sends texts until their end, their failure, or the client's end. The next text is read when the client has taken the
 * one before, so that the limit of an answer that does not move ends the stream too (server.ts).
 * @param takeRoom takes room for a text until the client has taken it; undefined ends the stream
 */
export async function sendEventStream(
  ctx: Context,
  texts: AsyncIterable<string>,
  takeRoom: (bytes: number) => (() => void) | undefined,
): Promise<void> {
  const { res } = ctx;
  ctx.respond = false;
  ctx.status = 200;
  res.setHeader('content-type', EVENT_STREAM);
  // Proxies that collect answers before they pass them on would hold the events back.
  res.setHeader('x-accel-buffering', 'no');
  res.flushHeaders();
  try {
    if (ctx.method !== 'HEAD') for await (const text of texts) if (!(await send(res, text, takeRoom))) break;
  } catch (error) {
    // The status was sent: the client comes again, and is answered with the error.
    ctx.app.emit('error', error, ctx);
  }
  res.end();
}

async function send(
  res: ServerResponse,
  text: string,
  takeRoom: (bytes: number) => (() => void) | undefined,
): Promise<boolean> {
  const giveBack = takeRoom(Buffer.byteLength(text));
  if (giveBack === undefined || res.destroyed) {
    giveBack?.();
    return false;
  }
  if (!res.write(text)) await drained(res);
  giveBack();
  return !res.destroyed;
}

function drained(res: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const settle = (): void => {
      res.off('drain', settle);
      res.off('close', settle);
      resolve();
    };
    res.once('drain', settle);
    res.once('close', settle);
    if (res.destroyed) settle();
  });
}
