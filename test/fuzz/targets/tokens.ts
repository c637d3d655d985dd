// Targets: signed tokens, proofs and assertions, and the claims and parameters beside them; judged by jose.
import { deepEqual, equal, match, ok } from 'node:assert/strict';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { normalizeTarget } from '../../../packages/resource-server/src/proof-target.ts';
import { readCookie } from '../../../src/authentication/console/session.ts';
import { parseProof } from '../../../src/authentication/dpop/dpop-proof.ts';
import { readProofKey } from '../../../src/authentication/dpop/proof-key.ts';
import { readExchangeRequest } from '../../../src/authentication/token-exchange/exchange-request.ts';
import { readAccessTokenClaims } from '../../../src/authentication/tokens/access-token.ts';
import { authorize } from '../../../src/authentication/tokens/bearer.routes.ts';
import { parseAssertion } from '../../../src/authentication/tokens/client-assertion.ts';
import { freshnessOf } from '../../../src/authentication/trusted-issuers/jwks-lifetime.ts';
import { readSubjectClaims } from '../../../src/authentication/trusted-issuers/subject-token.ts';
import { isIssuer } from '../../../src/authentication/users/subject.ts';
import { readClaim } from '../../../src/authentication/workload-issuers/claim-rules.ts';
import { readAssertion } from '../../../src/authentication/workload-issuers/workload-assertion.ts';
import { type Act, actorsOf, MOST_ACTORS, readAct } from '../../../src/platform/act.ts';
import { parseCompactJws } from '../../../src/platform/crypto/jws.ts';
import { FormError, parseForm } from '../../../src/platform/http/form.ts';
import { parseScope } from '../../../src/platform/scope-hash.ts';
import {
  accepts,
  attempt,
  headerOf,
  isObject,
  isWellFormed,
  jsonOf,
  linesOf,
  refusal,
  type Target,
  textOf,
} from '../target.ts';

const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
const token = (header: unknown, payload: unknown) => `${part(header)}.${part(payload)}.${'A'.repeat(86)}`;
const JWK = { kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' };
const NOW = 1_700_000_000_000;

const proof = token(
  { typ: 'dpop+jwt', alg: 'EdDSA', jwk: JWK },
  { jti: 'a', htm: 'POST', htu: 'https://a.example/oauth/token', iat: 1_700_000_000, ath: 'x', nonce: 'n' },
);
const assertion = token(
  { alg: 'ES256', kid: 'a' },
  { iss: 'c', sub: 'c', aud: 'https://a.example', exp: 1_700_000_100, iat: 1_700_000_000, jti: 'j' },
);

/** The input is a token, or `header\npayload` as JSON, which reaches further than broken base64. */
function tokenOf(bytes: Uint8Array): string {
  const text = headerOf(bytes);
  const line = text.indexOf('\n');
  if (line === -1) return text;
  const encode = (json: string) => Buffer.from(json, 'latin1').toString('base64url');
  return `${encode(text.slice(0, line))}.${encode(text.slice(line + 1))}.${'A'.repeat(86)}`;
}

const plain = (compact: string) =>
  compact
    .split('.')
    .slice(0, 2)
    .map((encoded) => Buffer.from(encoded, 'base64url').toString())
    .join('\n');

const jws: Target = {
  name: 'jws',
  parsers: [
    'platform/crypto/jws.ts#parseCompactJws',
    'authentication/tokens/access-token.ts#readAccessTokenClaims',
  ],
  seeds: [
    proof,
    assertion,
    plain(proof),
    '{"alg":"none"}\n{"__proto__":{"a":1}}',
    'e30.e30.AA',
    'e30.e30.AA==',
  ],
  run: (bytes) => {
    const text = tokenOf(bytes);
    const read = parseCompactJws(text);
    if (read === null) return;
    // jose refuses a header without an algorithm, and expects texts; it never reads other values.
    const header = attempt(
      () => decodeProtectedHeader(text),
      () => true,
    );
    if (header !== undefined) deepEqual(read.header, { ...header });
    deepEqual(read.payload, { ...accepts('jose', () => decodeJwt(text)) });
    equal(
      text,
      `${read.signed}.${Buffer.from(read.signature).toString('base64url')}`,
      'a token has one text',
    );
    equal(Object.getPrototypeOf(read.payload), Object.prototype);
    readAccessTokenClaims(read.payload);
  },
};

const dpop: Target = {
  name: 'dpop',
  parsers: ['authentication/dpop/dpop-proof.ts#parseProof', 'authentication/dpop/proof-key.ts#readProofKey'],
  seeds: [proof, plain(proof)],
  run: (bytes) => {
    const text = tokenOf(bytes);
    const read = attempt(() => parseProof(text), refusal('invalid_dpop_proof'));
    if (read === undefined) return;
    const { alg, jwk } = decodeProtectedHeader(text);
    const payload = decodeJwt(text);
    equal(read.algorithm, alg);
    for (const [name, value] of Object.entries(read.claims)) equal(value, payload[name]);
    deepEqual(readProofKey(read.algorithm, jwk), read.key);
    match(read.key.thumbprint, /^[A-Za-z0-9_-]{43}$/);
    ok(!('d' in read.key.jwk));
  },
};

const assertions: Target = {
  name: 'client-assertions',
  parsers: ['authentication/tokens/client-assertion.ts#parseAssertion'],
  seeds: [assertion, plain(assertion)],
  run: (bytes) => {
    const text = tokenOf(bytes);
    const read = attempt(() => parseAssertion(text, {}), refusal('invalid_client'));
    if (read === undefined) return;
    const payload = decodeJwt(text);
    deepEqual([read.clientId, read.clientId, read.jti], [payload.iss, payload.sub, payload.jti]);
    equal(read.expiresAt, payload.exp);
    ok(Number.isFinite(read.issuedAt) && Number.isFinite(read.notBefore));
  },
};

/** A chain of actors, a user's claims, and claims of our own tokens. */
const claims: Target = {
  name: 'claims',
  parsers: [
    'platform/act.ts#readAct',
    'authentication/trusted-issuers/subject-token.ts#readSubjectClaims',
    'authentication/users/subject.ts#isIssuer',
    'authentication/workload-issuers/workload-assertion.ts#readAssertion',
    'authentication/workload-issuers/claim-rules.ts#readClaim',
  ],
  seeds: [
    '{"iss":"https://i.example","sub":"u","exp":1700000100,"iat":1,"scope":"a b","act":{"sub":"x","act":{"sub":"y"}}}',
    '{"iss":"https://i.example","sub":"u","exp":1700000100,"scp":["a","b"],"may_act":{"sub":"z"},"typ":"at+jwt"}',
    '{"iss":"https://i.example","sub":"u","aud":["a"],"exp":1700000100,"nbf":1,"jti":"j","a/b~c":{"d":1}}',
    '{"iss":"https://a:b@i.example/?x","sub":"\\ud800","exp":"1","scope":null}',
  ],
  run: (bytes) => {
    const value = jsonOf(bytes);
    if (!isObject(value)) return;
    const isDeclared = refusal('invalid_request');
    const user = attempt(() => readSubjectClaims({ typ: value.typ }, value, NOW), isDeclared);
    if (user !== undefined) ok(user.exp * 1000 > NOW && isWellFormed(user.sub));
    for (const foreign of [undefined, { issuer: 'https://i.example', own: 'https://a.example' }]) {
      const act: Act | undefined = attempt<Act | undefined>(() => readAct(value.act, foreign), isDeclared);
      ok(actorsOf(act).length <= MOST_ACTORS);
      if (foreign === undefined) deepEqual(readAct(act), act, 'what was read is read again');
    }
    const trusted = { issuer: 'https://i.example', audiences: ['a'] };
    const parts = { header: { typ: value.typ }, claims: value, text: 'x.y.AA' };
    const workload = attempt(() => readAssertion(parts, trusted, {}, NOW), refusal('invalid_grant'));
    if (workload !== undefined) ok(workload.expiresAt * 1000 > NOW && isWellFormed(workload.sub));
    for (const [name, claim] of Object.entries(value)) {
      equal(readClaim(value, `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`), claim);
      if (!name.startsWith('/')) equal(readClaim(value, name), claim);
    }
    if (typeof value.iss === 'string' && isIssuer(value.iss)) {
      const { protocol, search, hash } = new URL(value.iss);
      deepEqual([protocol, search, hash], ['https:', '', '']);
    }
  },
};

const exchange: Target = {
  name: 'token-exchange',
  parsers: ['authentication/token-exchange/exchange-request.ts#readExchangeRequest'],
  seeds: [
    'subject_token=a&subject_token_type=urn:ietf:params:oauth:token-type:jwt&actor_token=b&' +
      'actor_token_type=urn:ietf:params:oauth:token-type:access_token&resource=https://r.example&scope=a',
    'actor_token_type=x',
  ],
  run: (bytes) => {
    const parameters = attempt(
      () => parseForm(headerOf(bytes)),
      (error) => error instanceof FormError,
    );
    if (parameters === undefined) return;
    const read = attempt(() => readExchangeRequest(parameters), refusal('invalid_request', 'invalid_target'));
    if (read === undefined) return;
    equal(read.subjectToken, parameters.subject_token);
    equal(read.target, parameters.resource ?? parameters.audience);
  },
};

const scopes: Target = {
  name: 'scopes',
  parsers: ['platform/scope-hash.ts#parseScope'],
  seeds: ['b a  b', 'agents:read openid', 'a"b', 'ä', ''],
  run: (bytes) => {
    const read = parseScope(textOf(bytes));
    if (read === null) return;
    deepEqual(read, [...new Set(textOf(bytes).match(/[^ ]+/g) ?? [])].sort());
    for (const scope of read) match(scope, /^[\x21\x23-\x5b\x5d-\x7e]+$/);
    deepEqual(parseScope(read.join(' ')), read);
  },
};

/** `htu` of proofs. */
const targets: Target = {
  name: 'proof-targets',
  parsers: ['packages/resource-server/src/proof-target.ts#normalizeTarget'],
  seeds: [
    'https://a.example/oauth/token',
    'HTTPS://A.example:443/%7ea/../b?q#f',
    'http://[::1]:8080/%2f',
    'https://u@a/',
  ],
  run: (bytes) => {
    const text = textOf(bytes);
    const read = normalizeTarget(text);
    if (read === null) return;
    const url = accepts('URL', () => new URL(text));
    equal(normalizeTarget(read), read, 'what is normal stays as it is');
    deepEqual([url.username, url.password, new URL(read).host], ['', '', url.host]);
    ok(!/[?#]/.test(read));
  },
};

const authorization: Target = {
  name: 'authorization',
  parsers: ['authentication/tokens/bearer.routes.ts#authorize'],
  seeds: ['Bearer abc.def-_~+/==', 'dpop  abc', 'Basic YTpi', 'Bearer', 'bearer a b', 'bearer a\u00a0'],
  run: async (bytes) => {
    const header = headerOf(bytes);
    let presented: string | undefined;
    const authenticate = async (_tenant: unknown, text: string) => {
      presented = text;
      return { kind: 'application', subject: 's', scopes: ['a'] } as never;
    };
    const check = authorize({ scope: 'a', operationId: 'x' } as never, authenticate);
    const context = { tenant: { issuerUrl: 'https://a.example' } };
    const req = { headers: { authorization: header }, rawHeaders: ['Authorization', header] };
    try {
      await check({ req, state: { context } } as never, async () => undefined);
    } catch (error) {
      if (!refusal('invalid_token', 'invalid_request')(error)) throw error;
      equal(presented, undefined, 'a malformed token is not looked up');
      return;
    }
    const [, scheme, text] = /^(\S+) +(\S+)$/.exec(header) ?? [];
    deepEqual([scheme?.toLowerCase(), text], ['bearer', presented]);
  },
};

/** Headers of a fetched key set: `cache-control`, `age`. */
const keySetHeaders: Target = {
  name: 'key-set-headers',
  parsers: ['authentication/trusted-issuers/jwks-lifetime.ts#freshnessOf'],
  seeds: ['public, max-age=600\n30', 'no-store\n', 'max-age="9"\n-1'],
  run: (bytes) => {
    const [control, age] = linesOf(bytes, 2);
    const fresh = freshnessOf({ 'cache-control': control, age });
    ok(fresh >= 60_000 && fresh <= 3_600_000);
  },
};

const cookie: Target = {
  name: 'console-cookie',
  parsers: ['authentication/console/session.ts#readCookie'],
  seeds: [
    'a=b; countersign-console=abc',
    'countersign-console=a; countersign-console=b',
    'countersign-console',
  ],
  run: (bytes) => {
    const header = headerOf(bytes);
    const secret = readCookie('http://localhost', header);
    if (secret !== undefined) ok(!secret.includes(';') && header.includes(`countersign-console=${secret}`));
  },
};

export const TOKENS: readonly Target[] = [
  jws,
  dpop,
  assertions,
  claims,
  exchange,
  scopes,
  targets,
  authorization,
  keySetHeaders,
  cookie,
];
