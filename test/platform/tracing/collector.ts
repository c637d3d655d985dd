// A collector of traces on loopback: takes OTLP over HTTP as JSON, and remembers the spans.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export type CollectedSpan = {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: Record<string, unknown>;
  failed: boolean;
  /** `service.name` and role of the process. */
  resource: Record<string, unknown>;
};

type Attribute = { key: string; value: Record<string, unknown> };
type Body = {
  resourceSpans: {
    resource: { attributes: Attribute[] };
    scopeSpans: {
      spans: (Omit<CollectedSpan, 'attributes' | 'failed' | 'resource'> & {
        attributes: Attribute[];
        status: { code: number };
      })[];
    }[];
  }[];
};

/** @param statusOf answers to the requests, by their number from 0 */
export async function startCollector(statusOf: (request: number) => number = () => 200) {
  const bodies: string[] = [];
  const headers: Record<string, unknown>[] = [];
  const spans: CollectedSpan[] = [];
  let requests = 0;
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request) chunks.push(chunk as Buffer);
    } catch {
      // Its sender has given up.
      return;
    }
    const status = request.url === '/v1/traces' ? statusOf(requests) : 404;
    requests += 1;
    if (status === 200) {
      const text = Buffer.concat(chunks).toString();
      bodies.push(text);
      headers.push(request.headers);
      spans.push(...read(JSON.parse(text)));
    }
    response.writeHead(status, { 'content-type': 'application/json' }).end('{}');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** What was sent, as it was sent. */
    bodies,
    headers,
    spans,
    requests: () => requests,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function read({ resourceSpans }: Body): CollectedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map(({ status, attributes, ...span }) => ({
        ...span,
        attributes: toRecord(attributes),
        failed: status.code === 2,
        resource: toRecord(resource.attributes),
      })),
    ),
  );
}

function toRecord(attributes: Attribute[]): Record<string, unknown> {
  return Object.fromEntries(
    attributes.map(({ key, value: { intValue, ...value } }) => [
      key,
      intValue === undefined ? Object.values(value)[0] : Number(intValue),
    ]),
  );
}
