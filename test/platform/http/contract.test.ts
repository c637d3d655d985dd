// What a route may answer and throw, and what happens when it does something else.
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { ServiceError } from '../../../src/platform/errors/service-error.ts';
import { createContract, errorsOf } from '../../../src/platform/http/contract.ts';
import { defineRoute, type Route } from '../../../src/platform/http/route.ts';

const route: Route = defineRoute({
  method: 'POST',
  path: '/things/:id',
  operationId: 'createThing',
  summary: 'Create',
  tag: 'Test',
  scope: 'agents:write',
  idempotent: true,
  request: { params: z.object({ id: z.uuid() }), body: z.strictObject({}) },
  responses: {
    201: { description: 'made', schema: z.strictObject({ at: z.iso.datetime() }) },
    204: { description: 'nothing' },
    200: { description: 'text', contentType: 'text/plain' },
  },
  errors: ['conflict', 'not_found'],
  handler: () => ({ status: 204 }),
});
const contract = createContract(route, { errors: true });

describe('the contract of a route', () => {
  it.each([
    ['a declared body, dates as they go out', { status: 201, body: { at: new Date() } }],
    ['a declared answer without a body', { status: 204 }],
    ['text where a content type is declared', { status: 200, body: 'x' }],
  ])('accepts %s', (_what, result) => {
    expect(() => contract.checkResult(result)).not.toThrow();
  });

  it.each([
    ['an undeclared status', { status: 202 }, /202/],
    ['another body', { status: 201, body: { at: 'now' } }, /another body/],
    ['a missing body', { status: 201 }, /another body/],
    ['a further field', { status: 201, body: { at: new Date(), secret: 'x' } }, /another body/],
    ['a body where none is declared', { status: 204, body: {} }, /with a body/],
  ])('refuses %s and names the route in the cause only', (_what, result, message) => {
    try {
      contract.checkResult(result);
      expect.unreachable();
    } catch (error) {
      expect(error).toBeInstanceOf(ServiceError);
      expect(error).toMatchObject({ code: 'server_error', detail: undefined });
      expect(String((error as ServiceError).cause)).toMatch(message);
      expect(String((error as ServiceError).cause)).toContain('createThing');
    }
  });

  it('lists the errors of the shell with those of the route, each once', () => {
    const codes = errorsOf(route);
    expect(new Set(codes).size).toBe(codes.length);
    expect(codes).toEqual(
      expect.arrayContaining([
        'conflict',
        'not_found',
        'token_expired',
        'insufficient_scope',
        'unsupported_media_type',
        'payload_too_large',
        'idempotency_in_progress',
        'rate_limited',
        'temporarily_unavailable',
      ]),
    );
  });

  it('lets declared errors and foreign ones pass, and turns undeclared codes into server_error', () => {
    const declared = new ServiceError('conflict');
    const foreign = new Error('x');
    expect(contract.checkError(declared)).toBe(declared);
    expect(contract.checkError(foreign)).toBe(foreign);
    expect(contract.checkError(new ServiceError('key_exists'))).toMatchObject({ code: 'server_error' });
    const lenient = createContract(route, { errors: false });
    expect(lenient.checkError(new ServiceError('key_exists'))).toMatchObject({ code: 'key_exists' });
  });
});
