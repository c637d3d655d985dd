// Targets: public keys in all forms, signatures, and what they are encoded in; judged by node:crypto and jose.
import { deepEqual, equal, ok } from 'node:assert/strict';
import { createPublicKey, verify } from 'node:crypto';
import { judgeJwk, readJwkSet } from '../../../src/authentication/trusted-issuers/jwk-set.ts';
import { readApplicationJwks } from '../../../src/identity/applications/application-jwks.ts';
import { KEY_ALGORITHMS } from '../../../src/platform/crypto/algorithm.ts';
import { decodeBase64, encodeBase64, encodeBase64Url } from '../../../src/platform/crypto/base64.ts';
import { PRIVATE_MEMBERS } from '../../../src/platform/crypto/jwk.ts';
import { importJwk } from '../../../src/platform/crypto/jws.node.ts';
import { parsePublicKey, toJwk, toSpkiDer } from '../../../src/platform/crypto/public-key.ts';
import { PublicKeyError } from '../../../src/platform/crypto/public-key-error.ts';
import { decodeSignature } from '../../../src/platform/crypto/signature.ts';
import { buildSpki, isPrivateKeyDer, nameForeignKey, parseSpki } from '../../../src/platform/crypto/spki.ts';
import { encodeDerSignature } from '../../platform/crypto/sign.ts';
import { accepts, attempt, headerOf, isObject, jsonOf, refusal, type Target, textOf } from '../target.ts';

const ED25519 = 'MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=';
const P256 =
  'MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEHRPgGALOP/QOzUkC4eZWkiPOlB2tXyEGZR+AAG8clXC1RpM9HG/m1Kgm3iQY3lwOxnuy7m0dXCm19cegYvMp5A==';
const P256_JWK = {
  kty: 'EC',
  crv: 'P-256',
  x: 'HRPgGALOP_QOzUkC4eZWkiPOlB2tXyEGZR-AAG8clXA',
  y: 'tUaTPRxv5tSoJt4kGN5cDsZ7su5tHVwptfXHoGLzKeQ',
};
const ED25519_JWK = { kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' };
const pem = (body: string) => `-----BEGIN PUBLIC KEY-----\n${body}\n-----END PUBLIC KEY-----\n`;

/** Members of a JWK in one order, without those that node:crypto adds. */
const membersOf = ({ kty, crv, x, y }: { kty?: unknown; crv?: unknown; x?: unknown; y?: unknown }) => ({
  kty,
  crv,
  x,
  y,
});

const SIGNER = createPublicKey({ key: P256_JWK, format: 'jwk' });

const isKeyError = (error: unknown) => error instanceof PublicKeyError;

/** Bytes of a key that a client sends: the first byte chooses the algorithm, the rest is the text. */
const publicKeys: Target = {
  name: 'public-keys',
  parsers: [
    'platform/crypto/public-key.ts#parsePublicKey',
    'platform/crypto/public-key-form.ts#readKeyMaterial',
    'identity/keys/key-input.ts#readPublicKey',
    'platform/crypto/curve.ts#decodePoint',
    'platform/crypto/jwk.ts#decodeMember',
  ],
  seeds: [
    `0${ED25519}`,
    `1${pem(P256)}`,
    `1${JSON.stringify(P256_JWK)}`,
    `0${JSON.stringify({ ...ED25519_JWK, alg: 'EdDSA', use: 'sig', key_ops: ['verify'] })}`,
    `20279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798`,
    `379be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798`,
  ],
  run: (bytes) => {
    const algorithm = KEY_ALGORITHMS[(bytes[0] ?? 0) & 3] ?? 'ed25519';
    const object = jsonOf(bytes.subarray(1));
    const input = isObject(object) ? object : textOf(bytes.subarray(1));
    const key = attempt(() => parsePublicKey(algorithm, input), isKeyError);
    if (key === undefined) return;
    const der = toSpkiDer(key);
    const imported = accepts('node:crypto', () =>
      createPublicKey({ key: Buffer.from(der), format: 'der', type: 'spki' }),
    );
    deepEqual(membersOf(imported.export({ format: 'jwk' })), membersOf(toJwk(key)));
    deepEqual(parsePublicKey(algorithm, encodeBase64(der)), key);
    deepEqual(parsePublicKey(algorithm, { ...toJwk(key) }), key);
  },
};

const spki: Target = {
  name: 'spki',
  parsers: ['platform/crypto/spki.ts#parseSpki'],
  seeds: [Buffer.from(ED25519, 'base64'), Buffer.from(P256, 'base64'), Buffer.from('302c020100', 'hex')],
  run: (bytes) => {
    nameForeignKey(bytes);
    isPrivateKeyDer(bytes);
    const read = parseSpki(bytes);
    if (read !== null) return deepEqual(Buffer.from(buildSpki(read.curve, read.point)), Buffer.from(bytes));
    // What node:crypto reads of our curves, and writes again unchanged, must be known here too.
    let known: string | undefined;
    try {
      const key = createPublicKey({ key: Buffer.from(bytes), format: 'der', type: 'spki' });
      const isExact = key.export({ format: 'der', type: 'spki' }).equals(bytes);
      known = isExact ? (key.export({ format: 'jwk' }).crv as string | undefined) : undefined;
    } catch {
      return;
    }
    ok(!['Ed25519', 'P-256', 'secp256k1'].includes(known ?? ''), `a key on ${known} is not read`);
  },
};

const message = Buffer.from('message');
/** Of the key above, over the message. */
const GENUINE =
  '3045022100b93ca4ed9a6c1e293c2025f345cf8b0a529c3216568c35442b955fe0da3b132e022055e5a0e5846d9367ee67267110fbbfbdf9ba10960ebe1c30bfe757743c511425';

/** The first byte chooses the algorithm, the rest is the signature before base64. */
const signatures: Target = {
  name: 'der-signatures',
  parsers: ['platform/crypto/signature.ts#decodeSignature'],
  seeds: [
    Buffer.concat([Buffer.of(1), Buffer.from(GENUINE, 'hex')]),
    Buffer.concat([Buffer.of(1), Buffer.from('3006020101020101', 'hex')]),
    Buffer.concat([Buffer.of(1), Buffer.from('300702020080020101', 'hex')]),
    Buffer.concat([Buffer.of(0), Buffer.alloc(64, 7)]),
    Buffer.concat([Buffer.of(2), encodeDerSignature(Buffer.alloc(64, 255))]),
  ],
  run: (bytes) => {
    const algorithm = KEY_ALGORITHMS[(bytes[0] ?? 0) & 3] ?? 'ed25519';
    const sent = bytes.subarray(1);
    const read = decodeSignature(algorithm, encodeBase64(sent));
    if (read === null) return;
    equal(read.length, 64);
    if (sent.length === 64) return deepEqual(Buffer.from(read), Buffer.from(sent));
    ok(algorithm === 'es256' || algorithm === 'es256k');
    deepEqual(Buffer.from(encodeDerSignature(read)), Buffer.from(sent), 'each signature has one DER form');
    const options = { key: SIGNER };
    equal(
      verify('sha256', message, { ...options, dsaEncoding: 'der' }, sent),
      verify('sha256', message, { ...options, dsaEncoding: 'ieee-p1363' }, read),
    );
  },
};

const base64: Target = {
  name: 'base64',
  parsers: ['platform/crypto/base64.ts#decodeBase64'],
  seeds: ['', 'YQ==', 'YWI', '-_8', '+/8=', 'YR==', 'a'],
  run: (bytes) => {
    const text = headerOf(bytes);
    const read = decodeBase64(text);
    if (read === null) return;
    const bare = text.replace(/=+$/, '');
    ok(
      [encodeBase64Url(read), encodeBase64(read).replace(/=+$/, '')].includes(bare),
      'each byte string has one text',
    );
    deepEqual(Buffer.from(read), Buffer.from(text, 'base64'));
  },
};

const jwkSets: Target = {
  name: 'jwk-sets',
  parsers: [
    'authentication/trusted-issuers/jwk-set.ts#readJwkSet',
    'authentication/trusted-issuers/jwk-set.ts#judgeJwk',
    'platform/crypto/jwk.ts#readPublicJwk',
    'identity/applications/application-jwks.ts#readApplicationJwks',
    'platform/crypto/jws.node.ts#importJwk',
  ],
  seeds: [
    JSON.stringify({ keys: [{ ...P256_JWK, kid: 'a', alg: 'ES256' }, ED25519_JWK] }),
    JSON.stringify({ keys: [{ ...P256_JWK, d: 'AA' }, { kty: 'oct', k: 'AA' }, null, 1] }),
    JSON.stringify({ keys: [{ kty: 'RSA', n: `${'v'.repeat(341)}w`, e: 'AQAB', use: 'sig' }] }),
  ],
  run: (bytes) => {
    const value = jsonOf(bytes);
    judgeJwk(value);
    for (const key of readJwkSet(value) ?? []) {
      ok(PRIVATE_MEMBERS.every((member) => !Object.hasOwn(key, member)));
      // A point off its curve is refused by OpenSSL, with an error that has a code.
      const imported = attempt(
        () => importJwk(key),
        (error) => error instanceof Error && 'code' in error,
      );
      // Further members, such as a y beside n and e, stay and mean nothing.
      for (const [name, member] of Object.entries(imported?.export({ format: 'jwk' }) ?? {}))
        equal(key[name as keyof typeof key], member);
    }
    const keys = isObject(value) && Array.isArray(value.keys) ? value.keys.filter(isObject) : [];
    const read = attempt(() => readApplicationJwks({ keys }), refusal('invalid_request'));
    for (const key of read?.keys ?? [])
      deepEqual(
        membersOf(accepts('node:crypto', () => importJwk(key)).export({ format: 'jwk' })),
        membersOf(key),
      );
  },
};

export const KEYS: readonly Target[] = [publicKeys, spki, signatures, base64, jwkSets];
