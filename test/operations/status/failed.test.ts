// How an endpoint is named where operators read.
import { expect, it } from 'vitest';
import { placeOf } from '../../../src/operations/status/status.ts';

it('names an endpoint without what may be secret', () => {
  expect(placeOf('https://user:pass@a.example:8443/refuse?key=secret')).toBe('a.example:8443/refuse');
});
