// The example of an authentication in openapi.json is one: a person's signing code makes this signature of it.
import { ed25519 } from '@noble/curves/ed25519.js';
import { hexToBytes } from '@noble/hashes/utils.js';
import { expect, it } from 'vitest';
import { buildPayloadOfResponse } from '../../../packages/agent/src/payloads.ts';
import {
  CHALLENGE_REQUESTS,
  CHALLENGES,
  VERIFICATIONS,
} from '../../../src/authentication/challenges/challenge.examples.ts';
import { KEYS, REGISTRATIONS } from '../../../src/identity/keys/key.examples.ts';
import { encodeBase64 } from '../../../src/platform/crypto/base64.ts';
import { fingerprint, jwkThumbprint, parsePublicKey } from '../../../src/platform/crypto/public-key.ts';
import { hashScopes, parseScope } from '../../../src/platform/scope-hash.ts';

/** RFC 8032 §7.1, test 1. */
const SECRET = hexToBytes('9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60');

it('has the signature of its key over the payload of its challenge, for the scopes of its request', () => {
  const { value: request } = CHALLENGE_REQUESTS.challenge;
  const { value: challenge } = CHALLENGES.challenge;
  expect(challenge.scope_hash).toBe(hashScopes(parseScope(request.scope) ?? []));
  const signature = ed25519.sign(buildPayloadOfResponse(challenge), SECRET);
  expect(VERIFICATIONS.ed25519.value.signature).toBe(encodeBase64(signature));
  expect(challenge.key_fingerprint).toBe(fingerprint(ed25519.getPublicKey(SECRET)));
});

it('registers that key, in each form', () => {
  const { jwk, pem, raw } = REGISTRATIONS;
  const expected = fingerprint(ed25519.getPublicKey(SECRET));
  for (const { value } of [jwk, pem])
    expect(fingerprint(parsePublicKey(value.algorithm, value.public_key).raw)).toBe(expected);
  const shown = KEYS.registered.value;
  const key = parsePublicKey('ed25519', shown.public_key);
  expect([shown.fingerprint, shown.jwk_thumbprint]).toEqual([expected, jwkThumbprint(key)]);
  expect(parsePublicKey(raw.value.algorithm, raw.value.public_key).raw).toHaveLength(32);
});
