// Fuzz targets of the package @countersign/resource-server: what its guard reads before a signature is checked.
import { deepEqual, equal, match, ok } from 'node:assert/strict';
import { readCredentials, schemeOf } from '../../../packages/resource-server/src/credentials.ts';
import { createParser } from '../../../packages/resource-server/src/event-stream.ts';
import { readClaims, readHeader } from '../../../packages/resource-server/src/issuer-keys.ts';
import { Refusal } from '../../../packages/resource-server/src/refusal.ts';
import { headerOf, isObject, type Target, textOf } from '../target.ts';

/** Runs a reader of the guard. @returns undefined when it refused; throws what is no refusal */
function unlessRefused<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    match(error.code, /^invalid_(token|request)$/);
    return undefined;
  }
}

const authorization: Target = {
  name: 'guard-authorization',
  parsers: ['packages/resource-server/src/credentials.ts#readCredentials'],
  seeds: [
    'Bearer a.b.c',
    'DPoP   abc==',
    'dpop a',
    'Bearer',
    'Basic YTpi',
    'Bearer a b',
    `Bearer ${'a'.repeat(8_193)}`,
  ],
  run: (bytes) => {
    const value = headerOf(bytes);
    const header = (name: string) => (name === 'authorization' ? [value] : []);
    const found = unlessRefused(() => readCredentials({ method: 'GET', target: '/', header }));
    if (found === undefined) return;
    equal(schemeOf(value), found.scheme);
    ok(value.endsWith(found.token) && found.token.length <= 8_192);
    match(value.slice(0, -found.token.length), /^(?:bearer|dpop) +$/i);
  },
};

const usualHeader = Buffer.from('{"alg":"ES256","kid":"k","typ":"at+jwt"}').toString('base64url');

const headers: Target = {
  name: 'guard-token-headers',
  parsers: [
    'packages/resource-server/src/issuer-keys.ts#readHeader',
    'packages/resource-server/src/issuer-keys.ts#readClaims',
  ],
  seeds: [
    `${usualHeader}.e30.c2ln`,
    `${usualHeader}..`,
    'W10.e30.',
    'e30.e30.e30',
    'a.b',
    '..',
    `${usualHeader}.a.b.c`,
  ],
  run: (bytes) => {
    const token = textOf(bytes);
    const claims = unlessRefused(() => readClaims(token));
    if (claims !== undefined) ok(isObject(claims));
    const header = unlessRefused(() => readHeader(token));
    if (header === undefined) return;
    equal(token.split('.').length, 3);
    ok(typeof header.kid === 'string' && typeof header.alg === 'string' && !('crit' in header));
    const part: unknown = JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString());
    equal(header.kid, (part as { kid?: unknown }).kid);
  },
};

const stream: Target = {
  name: 'guard-event-stream',
  parsers: ['packages/resource-server/src/event-stream.ts#createParser'],
  seeds: [
    'id: c1\ndata: {}\n\n',
    'event: complete\r\ndata: 1\rdata:2\n\n',
    ':\n\ndata',
    'id: a\0b\nretry: 1\n\n',
  ],
  run: (bytes) => {
    const text = textOf(bytes);
    const whole = createParser()(text);
    const parse = createParser();
    deepEqual([...text].flatMap(parse), whole);
    for (const { event, id, data } of whole) ok(!/[\r\n]/.test(event + id) && !data.includes('\r'));
  },
};

export const GUARDS: readonly Target[] = [authorization, headers, stream];
