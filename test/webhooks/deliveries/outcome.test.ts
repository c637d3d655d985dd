// Holds what each answer and each failure means for a delivery.
import { describe, expect, it } from 'vitest';
import { classifyFailure, classifyResponse, classifyTimeout } from '../../../src/platform/egress/outcome.ts';

describe('classifyResponse', () => {
  it.each([200, 201, 202, 204, 206, 299])('%i is delivered', (statusCode) => {
    expect(classifyResponse(statusCode, 1000)).toEqual({ kind: 'delivered', statusCode });
  });

  it.each([300, 301, 302, 303, 304, 307, 308, 399])('%i is a redirect, tried again', (statusCode) => {
    expect(classifyResponse(statusCode)).toMatchObject({
      kind: 'retry',
      errorClass: 'redirect',
      hold: false,
    });
  });

  it.each([
    ...[401, 402, 403, 404, 405, 406, 407, 408, 409, 411, 412, 414, 421, 425, 426, 429, 451, 499],
    ...[500, 502, 503, 504, 511, 599, 600, 999],
  ])('%i is tried again', (statusCode) => {
    expect(classifyResponse(statusCode)).toEqual({
      kind: 'retry',
      statusCode,
      errorClass: 'status',
      error: `http:${statusCode}`,
      hold: false,
    });
  });

  it.each([400, 413, 415, 422])('%i is final', (statusCode) => {
    expect(classifyResponse(statusCode, 1000)).toMatchObject({
      kind: 'rejected',
      error: `http:${statusCode}`,
    });
  });

  it('410 is gone', () => {
    expect(classifyResponse(410, 1000)).toEqual({
      kind: 'gone',
      statusCode: 410,
      errorClass: 'gone',
      error: 'http:410',
    });
  });

  it('carries Retry-After on every retryable answer, and holds the others on 429 and 503 only', () => {
    const held = [301, 401, 403, 404, 408, 425, 429, 500, 502, 503, 504].filter((statusCode) => {
      const outcome = classifyResponse(statusCode, 7000);
      expect(outcome).toMatchObject({ kind: 'retry', retryAfterMs: 7000 });
      return outcome.kind === 'retry' && outcome.hold;
    });
    expect(held).toEqual([429, 503]);
    expect(classifyResponse(503, 0)).toMatchObject({ hold: false });
    expect(classifyResponse(503, Number.MAX_SAFE_INTEGER)).toMatchObject({ retryAfterMs: 86_400_000 });
  });
});

describe('classifyFailure', () => {
  it.each([
    ['address', 'loopback', 'blocked_address', 'blocked_address:loopback'],
    ['address', 'plain_http', 'blocked_address', 'blocked_address:plain_http'],
    ['dns', 'ENOTFOUND', 'dns', 'dns:ENOTFOUND'],
    ['connect', 'ECONNREFUSED', 'connect', 'connect:ECONNREFUSED'],
    ['connect', 'ETIMEDOUT', 'timeout', 'timeout:ETIMEDOUT'],
    ['tls', 'UND_ERR_CONNECT_TIMEOUT', 'timeout', 'timeout:UND_ERR_CONNECT_TIMEOUT'],
    ['tls', 'CERT_HAS_EXPIRED', 'tls', 'tls:CERT_HAS_EXPIRED'],
    ['tls', 'ECONNRESET', 'tls', 'tls:ECONNRESET'],
    ['response', 'ECONNRESET', 'reset', 'reset:ECONNRESET'],
    ['response', 'UND_ERR_SOCKET', 'reset', 'reset:UND_ERR_SOCKET'],
    ['response', 'UND_ERR_HEADERS_OVERFLOW', 'too_large', 'too_large:UND_ERR_HEADERS_OVERFLOW'],
    ['response', 'ANSWER_TOO_LONG', 'too_large', 'too_large:ANSWER_TOO_LONG'],
    ['response', 'HPE_INVALID_CONSTANT', 'protocol', 'protocol:HPE_INVALID_CONSTANT'],
    ['response', 'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', 'tls', undefined],
    ['response', 'never seen before', 'protocol', 'protocol:neverseenbefore'],
    ['response', '', 'protocol', 'protocol:unknown'],
  ] as const)('%s %s is %s', (phase, code, errorClass, error) => {
    expect(classifyFailure(phase, code)).toMatchObject({
      kind: 'retry',
      statusCode: null,
      errorClass,
      hold: false,
      ...(error === undefined ? {} : { error }),
    });
  });

  it('keeps no text that a receiver could have chosen', () => {
    const outcome = classifyFailure('tls', `x\0\n<script>${'y'.repeat(500)}`);
    expect(outcome.kind === 'retry' && outcome.error).toMatch(/^tls:[A-Za-z0-9_]{1,64}$/);
  });

  it('says in which phase the time was over', () => {
    expect(classifyTimeout('connect')).toMatchObject({ errorClass: 'timeout', error: 'timeout:connect' });
  });
});
