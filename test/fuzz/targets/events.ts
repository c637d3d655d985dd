// Targets: what subscribers, publishers and receivers send: URLs, headers, filters, times, cursors, signatures, traces.

import { deepEqual, equal, match, ok } from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { validateHeaderName, validateHeaderValue } from 'node:http';
import { BlockList, isIP } from 'node:net';
import { domainToASCII } from 'node:url';
import { InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace';
import { NIL } from 'uuid';
import { parseSignature, SUITES } from '../../../packages/receiver/src/suites.ts';
import { verifyDelivery } from '../../../packages/receiver/src/verify-delivery.ts';
import { parseAnchor } from '../../../src/audit/verification.ts';
import {
  filterCandidates,
  isEventType,
  isFilter,
  matches,
  normalizeFilter,
} from '../../../src/events/filter.ts';
import { normalizeDomain } from '../../../src/identity/anchors/anchor.ts';
import { createCursors } from '../../../src/platform/database/page.ts';
import { canonicalAddress, judgeAddress } from '../../../src/platform/egress/address-rules.ts';
import { checkCustomHeaders } from '../../../src/platform/egress/header-rules.ts';
import { checkReceiverUrl, normalizeReceiverUrl } from '../../../src/platform/egress/url-rules.ts';
import { ServiceError } from '../../../src/platform/errors/service-error.ts';
import { deliveryWorkflowId, parseDeliveryWorkflowId } from '../../../src/platform/temporal/names.ts';
import { parseTimestamp } from '../../../src/platform/timestamp.ts';
import { createSampler, createTracer } from '../../../src/platform/tracing/tracer.ts';
import { parseRetryAfter } from '../../../src/webhooks/deliveries/retry-after.ts';
import { readHost } from '../../../src/webhooks/endpoints/host-hold.ts';
import { readPublication } from '../../../src/webhooks/intake/event.schemas.ts';
import { createFeedCursors } from '../../../src/webhooks/intake/feed-cursor.node.ts';
import { decodePosition, encodePosition } from '../../../src/webhooks/intake/feed-cursor.ts';
import { contentOf } from '../../../src/webhooks/intake/publication.ts';
import {
  readFilters,
  readHeaders,
  readReceiverUrl,
} from '../../../src/webhooks/subscriptions/subscription.ts';
import {
  accepts,
  attempt,
  headerOf,
  isObject,
  jsonOf,
  linesOf,
  refusal,
  type Target,
  textOf,
} from '../target.ts';

const isInvalid = refusal('invalid_request');
const NOW = Date.UTC(2026, 0, 1);

/** Addresses inside a network, by Node's own reading of blocks. */
const inside = new BlockList();
for (const [network, bits] of [
  ['10.0.0.0', 8],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
] as const)
  inside.addSubnet(network, bits);
for (const [network, bits] of [
  ['fc00::', 7],
  ['fe80::', 10],
  ['::', 96],
] as const)
  inside.addSubnet(network, bits, 'ipv6');

function isInside(hostname: string): boolean {
  const address = hostname.replace(/^\[|\]$/g, '');
  const family = isIP(address);
  return family !== 0 && inside.check(address, family === 6 ? 'ipv6' : 'ipv4');
}

const receiverUrls: Target = {
  name: 'receiver-urls',
  parsers: [
    'platform/egress/url-rules.ts#checkReceiverUrl',
    'platform/egress/url-rules.ts#normalizeReceiverUrl',
    'platform/egress/address-rules.ts#judgeAddress',
    'platform/egress/address-rules.ts#canonicalAddress',
    'webhooks/subscriptions/subscription.ts#readReceiverUrl',
    'webhooks/endpoints/host-hold.ts#readHost',
  ],
  seeds: [
    'https://hooks.example.com/in?x=1',
    'https://127.1/',
    'https://[::ffff:10.0.0.1]:8443/',
    'https://0x7f.0.0.1/',
    'https://localhost./',
    'http://[::1]',
    'https://xn--bcher-kva.example:443',
    'a.example:80',
  ],
  run: (bytes) => {
    const text = textOf(bytes);
    canonicalAddress(text);
    const verdict = checkReceiverUrl(text, []);
    const read = attempt(() => readReceiverUrl(text, []), isInvalid);
    equal(read?.url, verdict.ok ? verdict.url.href : undefined);
    if (verdict.ok) {
      equal(normalizeReceiverUrl(text), read?.url);
      const { href, hostname, protocol } = accepts('URL', () => new URL(text));
      ok(protocol === 'https:' && !isInside(hostname), `${href} points inside`);
      if (hostname.startsWith('[')) ok(judgeAddress(hostname.slice(1, -1), []).allowed);
      ok(checkReceiverUrl(href, []).ok || href.length > 2048, 'the stored form is accepted as well');
    }
    const named = readHost(text);
    if (named !== undefined) equal(readHost(named), named);
  },
};

const domains: Target = {
  name: 'domains',
  parsers: ['identity/anchors/anchor.ts#normalizeDomain'],
  seeds: [
    'Example.COM.',
    'bücher.example',
    'a.b.c',
    '1.2.3.4',
    '0x7f.1',
    'xn--a.example',
    'localhost',
    'a。b',
  ],
  run: (bytes) => {
    const read = normalizeDomain(textOf(bytes));
    if (!('domain' in read)) return;
    deepEqual(normalizeDomain(read.domain), read);
    equal(domainToASCII(read.domain), read.domain);
    equal(domainToASCII(textOf(bytes)).replace(/\.$/, ''), read.domain);
    equal(isIP(read.domain), 0);
  },
};

/** `name: value` in each line, or JSON with more freedom of names. */
const customHeaders: Target = {
  name: 'custom-headers',
  parsers: [
    'platform/egress/header-rules.ts#checkCustomHeaders',
    'webhooks/subscriptions/subscription.ts#readHeaders',
  ],
  seeds: [
    '{"Authorization":"Bearer x","X-A":"b c"}',
    '{"a":"1","A":"2"}',
    '{"__proto__":"x","x-token":"***"}',
    '{"Host":"x"}',
  ],
  run: (bytes) => {
    const value = jsonOf(bytes);
    if (!isObject(value)) return;
    const given = Object.fromEntries(
      Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
    );
    const verdict = checkCustomHeaders(given);
    attempt(() => readHeaders(given), isInvalid);
    if (!verdict.ok) return;
    for (const [name, text] of Object.entries(verdict.headers)) {
      equal(name, name.toLowerCase());
      accepts('node:http', () => validateHeaderName(name));
      accepts('node:http', () => validateHeaderValue(name, text));
      equal(new Headers([[name, text]]).get(name), text);
    }
  },
};

/** A filter and an event type. */
const filters: Target = {
  name: 'filters',
  parsers: [
    'events/filter.ts#isFilter',
    'events/filter.ts#normalizeFilter',
    'webhooks/subscriptions/subscription.ts#readFilters',
  ],
  seeds: ['auth.*\nauth.login.success', '**\na.b', 'a.b\na.b', 'a.b.c.d.e.*\na.b', 'A.*\na.b'],
  run: (bytes) => {
    const [filter = '', type = ''] = linesOf(bytes, 2);
    const read = attempt(() => readFilters([filter]), isInvalid);
    deepEqual(read, isFilter(filter) ? [normalizeFilter(filter)] : undefined);
    if (read === undefined || !isEventType(type)) return;
    const isHit = matches(read, type);
    equal(
      isHit,
      read.some((one) => filterCandidates(type).includes(one)),
    );
    const expected =
      filter.startsWith('*') ||
      filter === type ||
      (filter.endsWith('.*') && type.startsWith(filter.slice(0, -1)));
    equal(isHit, expected);
  },
};

const publications: Target = {
  name: 'publications',
  parsers: ['webhooks/intake/event.schemas.ts#readPublication'],
  seeds: [
    '{"type":"orders.order.placed","data":{"b":1,"a":[{"z":1,"y":2}]},"occurred_at":"2026-01-01T00:00:00Z","event_id":"e"}',
    '{"type":"auth.login.success","data":{}}',
    '{"type":"a.b","data":{"__proto__":1},"x":1}',
  ],
  run: (bytes) => {
    const read = readPublication(jsonOf(bytes), 'body');
    if (read instanceof ServiceError) return ok(isInvalid(read));
    ok(isEventType(read.type));
    const content = contentOf(read);
    // JSON.stringify writes -0 as 0.
    deepEqual(JSON.parse(content)[2], JSON.parse(JSON.stringify(read.data)));
    const reversed = Object.fromEntries(Object.entries(read.data).reverse());
    equal(contentOf({ ...read, data: reversed }), content, 'the order of members does not count');
  },
};

const times: Target = {
  name: 'timestamps',
  parsers: ['platform/timestamp.ts#parseTimestamp'],
  seeds: [
    '2026-02-28T23:59:60Z',
    '2024-02-29t12:00:00.123456789+14:00',
    '1970-01-01T00:00:00-00:01',
    '2026-02-30T00:00:00Z',
  ],
  run: (bytes) => {
    const text = textOf(bytes);
    const read = parseTimestamp(text);
    if (read === undefined) return;
    deepEqual(parseTimestamp(read.toISOString()), read);
    const cut = text.toUpperCase().replace(/(\.\d{3})\d+/, '$1');
    if (cut.slice(17, 19) !== '60') equal(read.getTime(), Date.parse(cut));
  },
};

const retryAfter: Target = {
  name: 'retry-after',
  parsers: [
    'webhooks/deliveries/retry-after.ts#parseRetryAfter',
    'webhooks/deliveries/retry-after.ts#parseHttpDate',
  ],
  seeds: [
    ' 120\t',
    'Sun, 06 Nov 2094 08:49:37 GMT',
    'Sunday, 06-Nov-94 08:49:37 GMT',
    'Sun Nov  6 08:49:37 2094',
    '9'.repeat(400),
  ],
  run: (bytes) => {
    const text = headerOf(bytes);
    const read = parseRetryAfter(text, NOW);
    if (read === undefined) return;
    ok(Number.isInteger(read) && read >= 0 && read <= 2_147_483_647_000);
    const fixed = /^[ \t]*(\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:)(\d\d) GMT[ \t]*$/.exec(text);
    if (fixed === null || fixed[2] === '60') return;
    const year = Number(text.trim().slice(12, 16));
    if (year >= 100) equal(read, Math.min(Math.max(Date.parse(text.trim()) - NOW, 0), 2_147_483_647_000));
  },
};

const UUID = '0198f4a2-7b1c-7d3e-8f45-123456789abc';

const PLACE = { xid: 700n, id: UUID, open: [], at: NOW };
const LATE_PLACE = {
  ...PLACE,
  open: [
    { xid: 5n, id: UUID },
    { xid: 700n, id: NIL },
  ],
};
const [list, feed] = [createCursors('a'), createFeedCursors({ masterKeys: [{ key: new Uint8Array(32) }] })];

const cursors: Target = {
  name: 'cursors',
  parsers: [
    'platform/database/page.ts#createCursors',
    'webhooks/intake/feed-cursor.node.ts#createFeedCursors',
    'webhooks/intake/feed-cursor.ts#decodePosition',
    'platform/temporal/names.ts#parseDeliveryWorkflowId',
    'audit/verification.ts#parseAnchor',
  ],
  seeds: [
    list.encode(UUID),
    Buffer.from(encodePosition(PLACE)).toString('base64url'),
    feed.seal(UUID, PLACE),
    Buffer.from(encodePosition(LATE_PLACE)),
    'delivery/0198f4a2-7b1c-7d3e-8f45-123456789abc/3',
    'countersign/audit/0198f4a2-7b1c-7d3e-8f45-123456789abc\n1\nAAAA\n',
  ],
  run: (bytes) => {
    const text = textOf(bytes);
    const id = attempt(() => list.decode(text), isInvalid);
    if (id !== undefined) equal(list.encode(id), text);
    const position = decodePosition(bytes);
    if (position !== undefined) deepEqual([...encodePosition(position)], [...bytes]);
    const sealed = feed.open(UUID, text);
    if (sealed !== undefined) equal(feed.seal(UUID, sealed), text);
    const delivery = parseDeliveryWorkflowId(text);
    if (delivery !== undefined)
      deepEqual(parseDeliveryWorkflowId(deliveryWorkflowId(delivery.id, delivery.generation)), delivery);
    const anchor = parseAnchor(text);
    if (anchor !== undefined) ok(Number.isSafeInteger(anchor.treeSize) && anchor.treeSize > 0);
  },
};

const NAMES = [
  'content-type',
  'x-service-signature-suite',
  'x-service-timestamp',
  'x-service-signature-max-age',
  'x-service-delivery',
  'x-service-event',
  'x-service-signature-256',
] as const;
const SECRET = 'whsec_secret';

/** Seven header values and the body. The signature `=` is replaced by the right one. */
const deliveries: Target = {
  name: 'deliveries',
  parsers: [
    'packages/receiver/src/verify-delivery.ts#readEnvelope',
    'packages/receiver/src/suites.ts#parseSignature',
  ],
  seeds: [
    `application/json\nservice-webhook-v1\n${NOW / 1000}\n300\nd\na.b\n=\n{}`,
    `application/json; charset=utf-8\nservice-webhook-v1\n1\n300\nd\na.b\nsha256=${'0'.repeat(64)}\n`,
    'text/plain\nservice-webhook-v2\n\n\n\n\n\n',
  ],
  run: async (bytes) => {
    const values = linesOf(bytes, 8);
    const body = Buffer.from(values[7] ?? '');
    const given = Object.fromEntries(NAMES.map((name, index) => [name, values[index] ?? '']));
    const head = `${values[1]}\n${values[2]}\n${values[3]}\n${values[4]}\n${values[5]}\n`;
    const genuine = `sha256=${createHmac('sha256', SECRET).update(head).update(body).digest('hex')}`;
    if (values[6] === '=') given['x-service-signature-256'] = genuine;
    const sent = given['x-service-signature-256'] ?? '';
    for (const suite of SUITES) {
      const hex = parseSignature(suite, sent);
      if (hex !== undefined) equal(`${suite.prefix}${hex}`, sent);
    }
    const result = await verifyDelivery({ method: 'POST', headers: given, body, secrets: SECRET, now: NOW });
    if (result.ok) {
      equal(sent, genuine);
      ok(Math.abs(NOW / 1000 - result.timestamp) <= 300);
    } else match(result.refusal, /^[a-z_]+$/);
  },
};

const exporter = new InMemorySpanExporter();
const tracer = createTracer({
  sampler: createSampler('parentbased_always_on', 1),
  processor: new SimpleSpanProcessor({ exporter }),
});
/** W3C Trace Context §3.2.2: version 00 exactly, later versions with more behind a hyphen. */
const TRACEPARENT =
  /^\s?((?!ff)[0-9a-f]{2})-((?!0{32})[0-9a-f]{32})-((?!0{16})[0-9a-f]{16})-([0-9a-f]{2})(-.*)?\s?$/;

const traces: Target = {
  name: 'traceparent',
  parsers: ['platform/tracing/tracer.ts#createTracer'],
  seeds: [
    '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
    '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00',
    'cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x',
    'ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
    '00-00000000000000000000000000000000-00f067aa0ba902b7-01',
  ],
  run: async (bytes) => {
    const parent = headerOf(bytes);
    exporter.reset();
    let current: string | undefined;
    await tracer.span('x', { kind: 'server', parent, root: true }, async () => {
      current = tracer.current();
    });
    if (current !== undefined) match(current, /^00-[0-9a-f]{32}-[0-9a-f]{16}-0[0-3]$/);
    const [span] = exporter.getFinishedSpans();
    const followed = span?.parentSpanContext?.traceId;
    const [, version, traceId, , , rest] = TRACEPARENT.exec(parent) ?? [];
    if (followed !== undefined) {
      equal(followed, traceId, 'a followed trace is the one that was sent');
      ok(version !== '00' || rest === undefined);
    }
  },
};

export const EVENTS: readonly Target[] = [
  receiverUrls,
  domains,
  customHeaders,
  filters,
  publications,
  times,
  retryAfter,
  cursors,
  deliveries,
  traces,
];
