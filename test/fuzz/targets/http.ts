// Targets: bodies, forms, queries and header fields of requests.
import { deepEqual, equal, match, ok } from 'node:assert/strict';
import { isIP } from 'node:net';
import { parseBasicCredentials } from '../../../src/authentication/tokens/basic-credentials.ts';
import { canonicalAddress } from '../../../src/platform/egress/address-rules.ts';
import { createInformationalReader } from '../../../src/platform/egress/informational-answers.ts';
import { createAddressReader } from '../../../src/platform/http/client-address.ts';
import { matchesEtag } from '../../../src/platform/http/etag.ts';
import { FormError, parseForm } from '../../../src/platform/http/form.ts';
import { keepAnswers } from '../../../src/platform/http/idempotency.ts';
import { answerParserErrors } from '../../../src/platform/http/parser-errors.ts';
import { chooseProblemType } from '../../../src/platform/http/problem-handler.ts';
import { requestIdOf } from '../../../src/platform/http/request-id.ts';
import { JsonError, parseInSteps, parseStrictJson } from '../../../src/platform/http/strict-json.ts';
import { createTenantLocator } from '../../../src/platform/http/tenant-locator.ts';
import { runSteps } from '../../../src/platform/steps.ts';
import {
  accepts,
  attempt,
  headerOf,
  isWellFormed,
  linesOf,
  refusal,
  type Target,
  textOf,
} from '../target.ts';

const isForm = (error: unknown) => error instanceof FormError;
const isJson = (error: unknown) => error instanceof JsonError;

const json: Target = {
  name: 'json',
  parsers: ['platform/http/strict-json.ts#parseStrictJson'],
  seeds: [
    '{"a":[1,-0.5e3,true,null,"\\u00e9\\n"],"b":{"c":{}}}',
    '{"a":1,"a":2}',
    '{"\\u005f_proto__":1}',
    '[9007199254740993,1e400,0.1000000000000000055511151231257827]',
    '"\\ud800"',
    `${'['.repeat(63)}${']'.repeat(63)}`,
  ],
  run: (bytes) => {
    const text = textOf(bytes);
    const value = attempt(() => parseStrictJson(text), isJson);
    if (value === undefined) return;
    deepEqual(value, JSON.parse(text));
    deepEqual(runSteps(parseInSteps(text, 1)), value, 'in small steps too');
    const written = JSON.stringify(value);
    equal(JSON.stringify(parseStrictJson(written)), written, 'what was accepted is accepted again');
    const stored: unknown[] = [];
    JSON.parse(written, (name, part) => stored.push(name, part) > 0 && part);
    for (const part of stored)
      if (typeof part === 'string') ok(!part.includes('\0') && isWellFormed(part), 'Postgres can store it');
  },
};

const form: Target = {
  name: 'form',
  parsers: ['platform/http/form.ts#parseForm'],
  seeds: [
    'grant_type=client_credentials&scope=a+b%20c',
    'a=%C3%A4&b=&&c',
    '__proto__=1&a=1&a=2',
    '%61=1&a=%00',
  ],
  run: (bytes) => {
    const text = headerOf(bytes);
    const kept = attempt(() => parseForm(text, { keepEmpty: true }), isForm);
    const given = attempt(() => parseForm(text), isForm);
    equal(kept === undefined, given === undefined, 'empty values do not decide about the others');
    if (kept === undefined || given === undefined) return;
    equal(Object.getPrototypeOf(kept), Object.prototype);
    const reference = new URLSearchParams(`&${text}`);
    for (const [name, value] of Object.entries(kept)) deepEqual(reference.getAll(name), [value]);
    deepEqual(given, Object.fromEntries(Object.entries(kept).filter(([, value]) => value !== '')));
    deepEqual(parseForm(new URLSearchParams(given).toString()), given);
  },
};

const basic: Target = {
  name: 'basic',
  parsers: ['authentication/tokens/basic-credentials.ts#parseBasicCredentials'],
  seeds: [
    'Basic czZCaGRSa3F0Mzo3RmpmcDBaQnIxS3REUmJuZlZkbUl3',
    'basic   YTpiOmM6',
    'Bearer x',
    'Basic YSUzQTpi',
  ],
  run: (bytes) => {
    const header = headerOf(bytes);
    const read = parseBasicCredentials(header);
    if (typeof read === 'string') return equal(['absent', 'malformed'].includes(read), true);
    const encode = (part: string) => encodeURIComponent(part);
    const again = Buffer.from(`${encode(read.clientId)}:${encode(read.clientSecret)}`).toString('base64');
    deepEqual(parseBasicCredentials(`Basic ${again}`), read);
    const sent = Buffer.from(header.trim().slice(5).trim(), 'base64').toString('utf8');
    const colon = sent.indexOf(':');
    const decode = (part: string) => decodeURIComponent(part.replaceAll('+', ' '));
    deepEqual(read, { clientId: decode(sent.slice(0, colon)), clientSecret: decode(sent.slice(colon + 1)) });
  },
};

const addressOf = createAddressReader(['10.0.0.0/8', 'fd00::/8']);

const forwarded: Target = {
  name: 'forwarded',
  parsers: ['platform/http/client-address.ts#createAddressReader'],
  seeds: [
    '198.51.100.7, 10.0.0.2',
    '[2001:db8::1]:4711, fd00::3',
    '::ffff:192.0.2.1',
    '192.0.2.1:80,',
    '2001:DB8:0:0::1%eth0',
    '::192.0.2.1',
  ],
  run: (bytes) => {
    const address = addressOf('10.0.0.1', headerOf(bytes));
    ok(isIP(address) !== 0, `${address} is an address`);
    equal(canonicalAddress(address), address, 'an address has one spelling');
    if (isIP(address) === 6) equal(new URL(`http://[${address}]`).hostname, `[${address}]`);
  },
};

const byHost = createTenantLocator({ defaultTenant: 'first', tenantUrl: 'https://{tenant}.example.com' });
const byPath = createTenantLocator({ defaultTenant: 'first', tenantUrl: 'https://example.com/t/{tenant}' });
const SLUG = /^[a-z0-9-]{1,63}$/;

const host: Target = {
  name: 'host',
  parsers: ['platform/http/tenant-locator.ts#createTenantLocator'],
  seeds: [
    'acme.example.com:443\n/oauth/token',
    'ACME.example.com\n/',
    'example.com\n/t/acme/.well-known/jwks.json',
    'x\n/.well-known/oauth-authorization-server/t/acme',
    'first.example.com\n/t/first/v1',
  ],
  run: (bytes) => {
    const [name = '', path = ''] = linesOf(bytes, 2);
    const found = byHost(name, path);
    equal(found.path, path);
    if (found.slug !== undefined && found.slug !== 'first') {
      match(found.slug, SLUG);
      equal(name.replace(/:\d*$/, '').toLowerCase(), `${found.slug}.example.com`);
    }
    const below = byPath(name, path);
    if (below.slug === undefined || below.slug === 'first') return;
    match(below.slug, SLUG);
    const inserted = path.startsWith('/.well-known/') && below.path.startsWith('/.well-known/');
    const address = inserted ? `${below.path}/t/${below.slug}` : `/t/${below.slug}${below.path}`;
    ok(path === address || path === address.slice(0, -1) || path === `${address}/`, `${path} is ${address}`);
  },
};

const fieldNames = /^[a-z0-9-]+: [\t\x20-\x7e]*$/;

const requests: Target = {
  name: 'requests',
  parsers: ['platform/http/parser-errors.ts#answerParserErrors', 'platform/http/request-id.ts#requestIdOf'],
  seeds: [
    'GET / HTTP/1.1\r\nX-Request-Id: abc\r\n\r\n',
    'x-request-id:\tä\n',
    'X-REQUEST-ID:  a\r\nX-Evil: 1',
  ],
  run: (bytes) => {
    match(requestIdOf(headerOf(bytes)), /^[\x21-\x7e]{1,128}$/);
    const answers: string[] = [];
    const socket = { writable: true, end: (text: string) => answers.push(text), destroy: () => undefined };
    const error = Object.assign(new Error(), { code: 'HPE_INVALID', rawPacket: Buffer.from(bytes) });
    answerParserErrors('https://errors.example/', () => undefined)(error, socket as never);
    const [head = '', body = ''] = (answers[0] ?? '').split('\r\n\r\n');
    const [line, ...fields] = head.split('\r\n');
    equal(line, 'HTTP/1.1 400 Bad Request');
    equal(fields.length, 7, 'a sent id adds no header field');
    for (const field of fields) match(field, fieldNames);
    accepts('JSON', () => JSON.parse(body));
  },
};

const headers: Target = {
  name: 'headers',
  parsers: ['platform/http/etag.ts#matchesEtag', 'platform/http/problem-handler.ts#chooseProblemType'],
  seeds: ['W/"abc", "x"', '*', 'application/json;q=0.5, application/problem+json', 'text/*;q=2, */*;q=0'],
  run: (bytes) => {
    const value = headerOf(bytes);
    const isNamed = matchesEtag(value, 'W/"abc"');
    if (isNamed) ok(value.includes('"abc"') || value.trim() === '*');
    for (const path of ['/oauth/token', '/v1/agents'])
      match(chooseProblemType(value, path), /^application\/(problem\+)?json$/);
  },
};

const idempotencyKeys: Target = {
  name: 'idempotency-keys',
  parsers: ['platform/http/idempotency.ts#keepAnswers'],
  seeds: ['8e03978e-40d5-43dd-bc93-6894a57f9324', 'ä', ' a', 'a'.repeat(255), 'a'.repeat(256)],
  run: async (bytes) => {
    const key = headerOf(bytes);
    let begun = false;
    const keyed = async () => {
      begun = true;
      return { status: 204 };
    };
    const perform = keepAnswers({ operationId: 'x' } as never, keyed, { database: {} as never, keyed });
    const ctx = { req: { headers: { 'idempotency-key': key } }, method: 'POST', state: { path: '/x' } };
    const isRefused = refusal('invalid_request');
    try {
      await perform(ctx as never, { tenant: { id: 't' } } as never);
    } catch (error) {
      if (!isRefused(error)) throw error;
    }
    const isVisible = bytes.every((byte) => byte > 0x20 && byte < 0x7f);
    equal(begun, isVisible && bytes.length >= 1 && bytes.length <= 255);
  },
};

const informational: Target = {
  name: 'informational-answers',
  parsers: ['platform/egress/informational-answers.ts#createInformationalReader'],
  seeds: [
    'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n',
    'HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n\r\nHTTP/1.0 100\r\n\r\n',
  ],
  run: (bytes) => {
    const whole = bytes.slice();
    createInformationalReader().read(whole);
    const pieces = bytes.slice();
    const { read } = createInformationalReader();
    for (let index = 0; index < pieces.length; index += 1) read(pieces.subarray(index, index + 1));
    deepEqual(pieces, whole, 'it does not matter how the bytes are cut');
    const before = headerOf(bytes);
    for (const [index, byte] of whole.entries()) {
      if (byte === bytes[index]) continue;
      equal(byte, '3'.charCodeAt(0));
      match(before.slice(0, index + 1), /(^|\r\n\r\n)[\r\n]*HTTP\/\d\.\d 100$/, 'only a 100 changes');
    }
  },
};

export const HTTP: readonly Target[] = [
  json,
  form,
  basic,
  forwarded,
  host,
  requests,
  headers,
  idempotencyKeys,
  informational,
];
