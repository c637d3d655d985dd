// What the form parser accepts and refuses.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FormError, parseForm } from '../../../src/platform/http/form.ts';

describe('forms', () => {
  it.each([
    ['grant_type=client_credentials&scope=a+b', { grant_type: 'client_credentials', scope: 'a b' }],
    ['scope=a%20b%2Bc', { scope: 'a b+c' }],
    ['a=1&b=&c', { a: '1' }],
    ['a=b=c', { a: 'b=c' }],
    ['&a=1&&', { a: '1' }],
    ['%C3%A4=%E2%82%AC', { ä: '€' }],
    ['__proto__=1&a=2', { a: '2' }],
    ['', {}],
  ])('reads %j', (text, parameters) => {
    expect(parseForm(text)).toEqual(parameters);
  });

  it.each([
    ['a=1&a=1', 'a', /repeated/],
    ['a=&a=1', 'a', /repeated/],
    ['a=1&%61=2', 'a', /repeated/],
    ['a=%', 'a', /percent/],
    ['a=%zz', 'a', /percent/],
    ['a=%ff', 'a', /percent/],
    ['%=1', '', /percent/],
    ['a=x%00', 'a', /U\+0000/],
    ['a=x\0', '', /U\+0000/],
    [Array.from({ length: 201 }, (_, index) => `p${index}=1`).join('&'), '', /too many/],
  ])('refuses %.20j', (text, parameter, message) => {
    const error = (() => {
      try {
        return parseForm(text);
      } catch (thrown) {
        return thrown;
      }
    })();
    expect(error).toBeInstanceOf(FormError);
    expect(error).toMatchObject({ parameter, message: expect.stringMatching(message) });
  });

  it('reads what URLSearchParams writes', () => {
    const text = fc
      .string({ unit: 'grapheme', minLength: 1, maxLength: 20 })
      .filter((value) => !value.includes('\0') && value !== '__proto__');
    fc.assert(
      fc.property(fc.dictionary(text, text, { maxKeys: 10 }), (parameters) => {
        expect(parseForm(new URLSearchParams(parameters).toString())).toEqual({ ...parameters });
      }),
    );
  });
});
