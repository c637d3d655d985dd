// A client or issuer whose clock is ahead, and whose assertions live as long as they may, is accepted.
import { describe, expect, it } from 'vitest';
import { checkAssertion, parseAssertion } from '../../src/authentication/tokens/client-assertion.ts';
import { readAssertion } from '../../src/authentication/workload-issuers/workload-assertion.ts';
import { readDirectorySignature } from '../../src/identity/keys/key-directory.ts';

/** Unix seconds of this service's clock. */
const NOW = 1_800_000_000;
const ISSUER = 'https://id.example.com';
const FAR = 'https://issuer.example.com';

const encode = (part: unknown) => Buffer.from(JSON.stringify(part)).toString('base64url');

/** Judges what was made by a clock that is this many seconds ahead, to live this many seconds. */
type Judge = (ahead: number, life: number) => unknown;

const judgeClient: Judge = (ahead, life) => {
  const made = NOW + ahead;
  const claims = { iss: 'c', sub: 'c', aud: ISSUER, jti: '1', iat: made, exp: made + life };
  const text = `${encode({ alg: 'ES256' })}.${encode(claims)}.${Buffer.alloc(64).toString('base64url')}`;
  return checkAssertion(parseAssertion(text, {}), { issuerUrl: ISSUER }, NOW * 1000);
};

const judgeWorkload: Judge = (ahead, life) => {
  const made = NOW + ahead;
  const claims = { iss: FAR, sub: 'pod', aud: ISSUER, jti: '1', iat: made, exp: made + life };
  const verified = { header: { alg: 'ES256' }, claims, text: 'a.b.AAAA' };
  return readAssertion(verified, { issuer: FAR, audiences: [ISSUER] }, {}, NOW * 1000);
};

const judgeDirectory: Judge = (ahead, life) => {
  const [created, expires] = [NOW + ahead, NOW + ahead + life];
  const parameters = `created=${created};expires=${expires};keyid="k";tag="http-message-signatures-directory"`;
  const signatureInput = `sig=("@authority";req);${parameters}`;
  const signature = `sig=:${Buffer.alloc(64).toString('base64')}:`;
  return readDirectorySignature({ signatureInput, signature }, { authority: 'id', now: NOW * 1000 });
};

describe.each<[string, { judge: Judge; life: number; ahead: number }]>([
  ['an assertion of a client', { judge: judgeClient, life: 300, ahead: 10 }],
  ['an assertion of a workload', { judge: judgeWorkload, life: 86_400, ahead: 30 }],
  ['a signature over the directory', { judge: judgeDirectory, life: 30 * 86_400, ahead: 10 }],
])('%s', (_name, { judge, life, ahead }) => {
  it('with the longest life is accepted from a clock that is as far ahead as may be', () => {
    for (const seconds of [0, 1, 2, ahead]) expect(() => judge(seconds, life)).not.toThrow();
  });

  it('is refused a second beyond the longest life and the allowance', () => {
    expect(() => judge(ahead, life + 1)).toThrow(/must expire within/);
  });

  it('is refused from a clock that is further ahead', () => {
    expect(() => judge(ahead + 1, 60)).toThrow(/not valid yet|in the future/);
  });

  it('is refused at its exp, without an allowance', () => {
    expect(() => judge(-60, 60)).toThrow(/has expired/);
  });
});
