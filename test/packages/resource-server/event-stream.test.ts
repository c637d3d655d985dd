// The parser of Server-Sent Events: the examples of the HTML Standard, and any cut of a stream into pieces.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createParser, readEventStream } from '../../../packages/resource-server/src/event-stream.ts';
import { writeEvent } from '../../../src/platform/http/event-stream.ts';

const streamOf = (chunks: readonly Uint8Array[]) =>
  new ReadableStream<Uint8Array>({
    start: (controller) => {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
const parseAll = (...texts: string[]) => texts.flatMap(createParser());

describe('Server-Sent Events', () => {
  it('are read as the HTML Standard says (§9.2.6)', () => {
    expect(parseAll('data: YHOO\ndata: +2\ndata: 10\n\n')).toEqual([
      { event: 'message', id: '', data: 'YHOO\n+2\n10' },
    ]);
    expect(
      parseAll(': test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third\n\n'),
    ).toEqual([
      { event: 'message', id: '1', data: 'first event' },
      { event: 'message', id: '', data: 'second event' },
      { event: 'message', id: '', data: ' third' },
    ]);
    expect(parseAll('data\n\ndata\ndata\n\ndata:')).toEqual([
      { event: 'message', id: '', data: '' },
      { event: 'message', id: '', data: '\n' },
    ]);
    expect(parseAll('event: complete\rdata: 1\r\rid: x\r\nevent: end\r\n\r\nretry: 5\ndata: 2\n\n')).toEqual([
      { event: 'complete', id: '', data: '1' },
      { event: 'message', id: 'x', data: '2' },
    ]);
  });

  it('end with the signal, although the connection goes on', async () => {
    const ending = new AbortController();
    const canceled: unknown[] = [];
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(new TextEncoder().encode('data: 1\n\n')),
      cancel: (reason) => void canceled.push(reason),
    });
    const events = readEventStream(body, { signal: ending.signal });
    expect(await events.next()).toMatchObject({ value: { data: '1' } });
    const silent = new ReadableStream<Uint8Array>({ cancel: (reason) => void canceled.push(reason) });
    const nothing = readEventStream(silent, { signal: ending.signal }).next();
    ending.abort('closed');
    await expect(nothing).rejects.toBe('closed');
    await expect(
      (async () => {
        for await (const _ of events);
      })(),
    ).rejects.toBe('closed');
    expect(canceled).toEqual(['closed', 'closed']);
    const late = readEventStream(new ReadableStream(), { signal: ending.signal });
    await expect(late.next()).rejects.toBe('closed');
  });

  it('are the same however the stream is cut, and are what the service writes', async () => {
    const sent = fc.record({
      event: fc.constantFrom('message', 'complete', 'end'),
      id: fc.stringMatching(/^[A-Za-z0-9_-]{1,50}$/),
      data: fc.jsonValue(),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(sent, { maxLength: 5 }),
        fc.constantFrom('\n', '\r', '\r\n'),
        fc.integer({ min: 1, max: 20 }),
        async (events, end, size) => {
          const written = events.map(({ data, ...rest }) =>
            writeEvent({ ...rest, text: JSON.stringify(data) }),
          );
          const text = written.join('').replaceAll('\n', end);
          const bytes = new TextEncoder().encode(text);
          const cuts = Array.from({ length: Math.ceil(bytes.length / size) }, (_, n) =>
            bytes.subarray(n * size, (n + 1) * size),
          );
          const read = [];
          let pieces = 0;
          for await (const one of readEventStream(streamOf(cuts), { onBytes: () => (pieces += 1) }))
            read.push(one);
          expect(read.map((one) => ({ ...one, data: JSON.parse(one.data) }))).toEqual(
            JSON.parse(JSON.stringify(events)),
          );
          expect(pieces).toBe(cuts.length);
        },
      ),
    );
  });

  it('are not kept without an end', () => {
    const parse = createParser();
    expect(() => {
      for (let n = 0; n < 3; n += 1) parse('x'.repeat(1_000_000));
    }).toThrow('too long');
  });
});
