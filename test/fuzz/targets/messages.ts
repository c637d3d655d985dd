// Targets: structured fields, and what signatures of HTTP messages are read from.
import { equal, ok } from 'node:assert/strict';
import { isInnerList, serializeInnerList, serializeItem } from 'structured-headers';
import { readSignedRequest, VERIFY_TAG } from '../../../src/authentication/challenges/signed-request.ts';
import { readDirectorySignature } from '../../../src/identity/keys/key-directory.ts';
import { checkContentDigest } from '../../../src/platform/crypto/content-digest.ts';
import {
  buildSignatureBase,
  readParameters,
  readSignatures,
} from '../../../src/platform/crypto/message-signature.ts';
import { readDictionary, StructuredFieldError } from '../../../src/platform/crypto/structured-fields.ts';
import { attempt, headerOf, linesOf, refusal, type Target } from '../target.ts';

const isFieldError = (error: unknown) => error instanceof StructuredFieldError;

const INPUT = `sig=("@method" "@target-uri" "content-digest");created=1;expires=2;nonce="n";keyid="k";tag="${VERIFY_TAG}"`;
const DIGEST = 'sha-256=:RBNvo1WzZ4oRRq0W9+hknpT7T8If536DEMBg9hyq/4o=:';

const structuredFields: Target = {
  name: 'structured-fields',
  parsers: ['platform/crypto/structured-fields.ts#readDictionary'],
  seeds: [
    INPUT,
    DIGEST,
    'a=1, b;x=?0, c=("d" e);f, g=:AQI=:',
    'a=-015 ,\tb="\\"\\\\"',
    'a=(  );b=*c/d:e, f=?1',
  ],
  run: (bytes) => {
    const text = headerOf(bytes);
    const members = attempt(() => readDictionary(text), isFieldError);
    for (const [key, member] of members ?? []) {
      const form = isInnerList(member) ? serializeInnerList(member) : serializeItem(member);
      const again = readDictionary(`${key}=${form}`).get(key);
      ok(again !== undefined);
      equal(isInnerList(again) ? serializeInnerList(again) : serializeItem(again), form);
    }
  },
};

/** Two lines: Signature-Input and Signature. */
const messageSignatures: Target = {
  name: 'message-signatures',
  parsers: [
    'platform/crypto/message-signature.ts#readSignatures',
    'platform/crypto/message-signature.ts#readParameters',
  ],
  seeds: [
    `${INPUT}\nsig=:AQID:`,
    'a=("x";req);alg="ed25519", b=("@status")\na=:AQ==:, b=:AQ==:',
    'a=()\na=:AQ==:;b',
  ],
  run: (bytes) => {
    const [signatureInput = '', signature = ''] = linesOf(bytes, 2);
    for (const { input } of attempt(() => readSignatures({ signatureInput, signature }), isFieldError) ??
      []) {
      attempt(() => readParameters(input), isFieldError);
      const base = attempt(() => buildSignatureBase(input, () => 'value'), isFieldError);
      // One line for each component, and one for the parameters: no value or name can add a line.
      if (base !== undefined) equal(Buffer.from(base).toString().split('\n').length, input[0].length + 1);
    }
  },
};

/** Three lines: Signature-Input, Signature, Content-Digest; the content is a constant. */
const signedRequests: Target = {
  name: 'signed-requests',
  parsers: ['authentication/challenges/signed-request.ts#readSignedRequest'],
  seeds: [
    `${INPUT}\nsig=:AQID:\n${DIGEST}`,
    `a=("@method" "@authority" "@path" "content-digest");tag="${VERIFY_TAG}"\na=:AQ==:\n${DIGEST}`,
  ],
  run: (bytes) => {
    const [input = '', signature = '', digest = ''] = linesOf(bytes, 3);
    const headers: Readonly<Record<string, string>> = {
      'signature-input': input,
      signature,
      'content-digest': digest,
    };
    attempt(() => checkContentDigest(digest, new TextEncoder().encode('{}')), isFieldError);
    const read = attempt(
      () =>
        readSignedRequest({
          method: 'POST',
          url: 'https://id.example/auth/agent/verify',
          content: '{}',
          headerValues: (name) => (headers[name] === undefined ? [] : [headers[name]]),
        }),
      refusal('invalid_request', 'invalid_grant'),
    );
    if (read === undefined) return;
    const base = Buffer.from(read.base).toString();
    for (const line of ['"@method": POST\n', '"content-digest": ', `;tag="${VERIFY_TAG}"`])
      ok(base.includes(line));
    ok(Number.isSafeInteger(read.created) && Number.isSafeInteger(read.expires));
  },
};

/** Two lines: Signature-Input and Signature. */
const directorySignatures: Target = {
  name: 'directory-signatures',
  parsers: ['identity/keys/key-directory.ts#readDirectorySignature'],
  seeds: [
    'a=("@authority";req);created=1;expires=2;keyid="k";alg="ed25519";tag="http-message-signatures-directory"\na=:AQ==:',
  ],
  run: (bytes) => {
    const [signatureInput = '', signature = ''] = linesOf(bytes, 2);
    const read = attempt(
      () => readDirectorySignature({ signatureInput, signature }, { authority: 'id.example', now: 1_500 }),
      isFieldError,
    );
    if (read === undefined) return;
    const text = readDictionary(`a=${read.input}`).get('a');
    ok(text !== undefined && isInnerList(text));
    equal(serializeInnerList(text), read.input);
    ok(/^[\x20-\x7e]+$/.test(read.input), 'a header');
    ok(Buffer.from(read.base).toString().startsWith('"@authority";req: id.example\n"@signature-params": ('));
  },
};

export const MESSAGES: readonly Target[] = [
  structuredFields,
  messageSignatures,
  signedRequests,
  directorySignatures,
];
