// Signatures of HTTP messages: the vectors of RFC 9421, appendix B, with its keys, and what is refused.
import { createPublicKey, verify } from 'node:crypto';
import { isInnerList, serializeInnerList, serializeItem } from 'structured-headers';
import { describe, expect, it } from 'vitest';
import { checkContentDigest } from '../../../src/platform/crypto/content-digest.ts';
import {
  buildSignatureBase,
  readParameters,
  readSignatures,
} from '../../../src/platform/crypto/message-signature.ts';
import { parsePublicKey } from '../../../src/platform/crypto/public-key.ts';
import { readDictionary, StructuredFieldError } from '../../../src/platform/crypto/structured-fields.ts';
import { createSignatureVerifier } from '../../../src/platform/crypto/verify-signature.node.ts';

/** RFC 9421, B.1.3 and B.1.4. */
const P256 = {
  kty: 'EC',
  crv: 'P-256',
  x: 'qIVYZVLCrPZHGHjP17CTW0_-D9Lfw0EkjqF7xB4FivA',
  y: 'Mc4nN9LTDOBhfoUeg8Ye9WedFRhnZXZJA12Qp0zZ6F0',
};
const ED25519 = { kty: 'OKP', crv: 'Ed25519', x: 'JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs' };

/** RFC 9421, B.2: the request and the response. */
const REQUEST: Readonly<Record<string, string>> = {
  '@method': 'POST',
  '@path': '/foo',
  '@authority': 'example.com',
  date: 'Tue, 20 Apr 2021 02:07:55 GMT',
  'content-type': 'application/json',
  'content-digest':
    'sha-512=:WZDPaVn/7XgHaAy8pmojAkGWoRx2UFChF41A2svX+TaPm+AbwAgBWnrIiYllu7BNNyealdVLvRwEmTHWXvJwew==:',
  'content-length': '18',
};
const RESPONSE: Readonly<Record<string, string>> = {
  '@status': '200',
  'content-type': 'application/json',
  'content-digest':
    'sha-512=:mEWXIS7MaLRuGgxOBdODa3xqM1XdEvxoYhvlCFJ41QJgJc4GTsPp29l5oGX69wWdXymyU0rjJuahq4l5aGgfLQ==:',
  'content-length': '23',
};

const VECTORS = [
  {
    name: 'B.2.4, ecdsa-p256-sha256',
    message: RESPONSE,
    algorithm: 'es256',
    jwk: P256,
    input:
      'sig-b24=("@status" "content-type" "content-digest" "content-length");created=1618884473;keyid="test-key-ecc-p256"',
    signature:
      'sig-b24=:wNmSUAhwb5LxtOtOpNa6W5xj067m5hFrj0XQ4fvpaCLx0NKocgPquLgyahnzDnDAUy5eCdlYUEkLIj+32oiasw==:',
  },
  {
    name: 'B.2.6, ed25519',
    message: REQUEST,
    algorithm: 'ed25519',
    jwk: ED25519,
    input:
      'sig-b26=("date" "@method" "@path" "@authority" "content-type" "content-length");created=1618884473;keyid="test-key-ed25519"',
    signature:
      'sig-b26=:wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw==:',
  },
] as const;

describe.each(VECTORS)('the vector $name', ({ message, algorithm, jwk, input, signature }) => {
  const [read] = readSignatures({ signatureInput: input, signature });
  if (read === undefined) throw new Error('no signature');
  const base = buildSignatureBase(read.input, (name) => message[name]);

  it('is verified by its key, here and by node:crypto', async () => {
    const verifier = createSignatureVerifier({ schnorrThreads: 1 });
    const text = Buffer.from(read.signature).toString('base64');
    const { raw: publicKey } = parsePublicKey(algorithm, jwk);
    expect(await verifier.verifySignature({ algorithm, publicKey, payload: base, signature: text })).toBe(
      true,
    );
    const key = createPublicKey({ key: jwk, format: 'jwk' });
    const hash = algorithm === 'es256' ? 'sha256' : null;
    expect(verify(hash, base, { key, dsaEncoding: 'ieee-p1363' }, read.signature)).toBe(true);
    base[0] = (base[0] ?? 0) ^ 1;
    expect(await verifier.verifySignature({ algorithm, publicKey, payload: base, signature: text })).toBe(
      false,
    );
    await verifier.close();
  });

  it('has the parameters and the one form of its input', () => {
    expect(readParameters(read.input)).toEqual({
      created: 1618884473,
      keyid: expect.stringMatching(/^test-key-/),
    });
    expect(`${read.label}=${serializeInnerList(read.input)}`).toBe(input);
  });
});

it('the signature base is that of RFC 9421, B.2.3, and of its query parameter and empty header', () => {
  const text =
    'sig=("date" "@method" "@path" "@query-param";name="Pet" "@authority" "content-type" "content-digest" "content-length");created=1618884473;keyid="test-key-rsa-pss"';
  const [read] = readSignatures({ signatureInput: text, signature: 'sig=:AA==:' });
  if (read === undefined) throw new Error('no signature');
  const base = buildSignatureBase(read.input, (name) => ({ ...REQUEST, '@query-param': 'dog' })[name]);
  expect(Buffer.from(base).toString()).toBe(
    `"date": Tue, 20 Apr 2021 02:07:55 GMT
"@method": POST
"@path": /foo
"@query-param";name="Pet": dog
"@authority": example.com
"content-type": application/json
"content-digest": ${REQUEST['content-digest']}
"content-length": 18
"@signature-params": ${text.slice(4)}`,
  );
});

it('the digests are those of the contents, by SHA-512 and SHA-256', () => {
  const content = (text: string) => new TextEncoder().encode(text);
  checkContentDigest(REQUEST['content-digest'] ?? '', content('{"hello": "world"}'));
  checkContentDigest(RESPONSE['content-digest'] ?? '', content('{"message": "good dog"}'));
  checkContentDigest(
    'sha-256=:X48E9qOokqqrvdts8nOJRJN3OWDUoyWxBf7kbu9DBPE=:, md5=:AA==:',
    content('{"hello": "world"}'),
  );
  for (const field of [
    REQUEST['content-digest'] ?? '',
    'md5=:AA==:',
    '',
    'sha-256',
    'sha-256=X',
    'sha-256=:AA==:',
  ])
    expect(() => checkContentDigest(field, content('{}')), field).toThrow(StructuredFieldError);
});

describe('structured fields', () => {
  it.each([
    ['a=1, b;x=?0, c=("d" e);f, g=:AQI:', 'a=1|b;x=?0|c=("d" e);f|g=:AQI=:'],
    ['  a=-015 ,\tb="\\"\\\\"  ', 'a=-15|b="\\"\\\\"'],
    ['a=(  );b=*c/d:e, f=?1', 'a=();b=*c/d:e|f'],
    ['', ''],
    ['a="b, c; d=@1 \\" e=1.0";f=", g"', 'a="b, c; d=@1 \\" e=1.0";f=", g"'],
  ])('%s is read, and has one form', (text, expected) => {
    const forms = [...readDictionary(text)].map(([key, member]) => {
      if (isInnerList(member)) return `${key}=${serializeInnerList(member)}`;
      return member[0] === true ? key + serializeItem(member).slice(2) : `${key}=${serializeItem(member)}`;
    });
    expect(forms.join('|')).toBe(expected);
  });

  it.each([
    'a=1,',
    '\ta=1',
    'a=1 b=2',
    ',a=1',
    'a=',
    'A=1',
    'a=1.5',
    'a=1;b=1.0',
    'a=(1.0)',
    'a=1234567890123456',
    'a="x',
    'a="\\x"',
    'a="ä"',
    'a=:AQI:=',
    'a=:AQJ=:',
    'a=:-_==:',
    'a=("b""c")',
    'a=("b"',
    'a=(("b"))',
    'a=?2',
    'a=1, a=2',
    'a=1;b=1;b=2',
    'a=@1',
    'a=%"x"',
    'a=("x" %"\\"),b=1',
    'a\n=1',
  ])('%j is refused', (text) => {
    expect(() => readDictionary(text)).toThrow(StructuredFieldError);
  });

  it.each([
    ['a=("x")', ''],
    ['a=("x")', 'b=:AA==:'],
    ['a=("x")', 'a="AA=="'],
    ['a="x"', 'a=:AA==:'],
  ])('the signature %s with %s is refused', (signatureInput, signature) => {
    expect(() => readSignatures({ signatureInput, signature })).toThrow(StructuredFieldError);
  });

  it.each(['("x" "x")', '("y")', '(x)', '(1)'])('the components %s are refused', (list) => {
    const [read] = readSignatures({ signatureInput: `a=${list}`, signature: 'a=:AA==:' });
    expect(() => read && buildSignatureBase(read.input, (name) => (name === 'x' ? '1' : undefined))).toThrow(
      StructuredFieldError,
    );
  });

  it.each(['created="1"', 'keyid=1', 'nonce=abc', 'context="x"', 'expires'])(
    'the parameter %s is refused',
    (text) => {
      const [read] = readSignatures({ signatureInput: `a=();${text}`, signature: 'a=:AA==:' });
      expect(() => read && readParameters(read.input)).toThrow(StructuredFieldError);
    },
  );
});
