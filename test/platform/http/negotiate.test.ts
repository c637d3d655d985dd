// Which media type an error goes out as.
import { expect, it } from 'vitest';
import { chooseProblemType } from '../../../src/platform/http/problem-handler.ts';

const PROBLEM = 'application/problem+json';
const JSON_TYPE = 'application/json';

it.each([
  [undefined, '/api/v1/agents', PROBLEM],
  ['*/*', '/api/v1/agents', PROBLEM],
  ['', '/api/v1/agents', PROBLEM],
  ['application/*', '/api/v1/agents', PROBLEM],
  ['application/json', '/api/v1/agents', JSON_TYPE],
  ['application/json, text/plain, */*', '/api/v1/agents', JSON_TYPE],
  ['application/json;q=0.5, application/problem+json', '/api/v1/agents', PROBLEM],
  ['text/html', '/api/v1/agents', PROBLEM],
  ['nonsense;;;', '/api/v1/agents', PROBLEM],
  [undefined, '/oauth/token', JSON_TYPE],
  ['*/*', '/oauth/token', JSON_TYPE],
  ['text/html', '/oauth/token', JSON_TYPE],
  ['application/json', '/oauth/token', JSON_TYPE],
  ['application/problem+json', '/oauth/token', PROBLEM],
  [undefined, '/oauthx', PROBLEM],
])('an error for Accept %j at %s is %s', (accept, path, type) => {
  expect(chooseProblemType(accept, path)).toBe(type);
});
