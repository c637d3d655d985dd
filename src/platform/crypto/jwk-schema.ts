// What public keys as JWKs look like, for descriptions. It describes only: a point off its curve, for one, is found elsewhere.

const COORDINATES = { 'P-256': 43, secp256k1: 43, 'P-384': 64, 'P-521': 88 } as const;

type Kind = keyof typeof COORDINATES | 'Ed25519' | 'RSA';

const base64Url = (characters: number) => ({
  type: 'string',
  pattern: `^[A-Za-z0-9_-]{${characters}}$`,
});

const COMMON = {
  kid: { type: 'string', minLength: 1, maxLength: 255 },
  use: { const: 'sig' },
};

/**
 * JSON Schema (2020-12) of public keys of these kinds (RFC 7518 §6, RFC 8037 §2, RFC 8812 §3.1). Members that it does not name are
 * allowed, those of private keys are not.
 * @param id name of the schema among the components of the description
 * @param kinds curves, and `RSA`
 */
export function describeJwk(id: string, kinds: readonly Kind[]): Record<string, unknown> & { id: string } {
  return {
    id,
    type: 'object',
    oneOf: kinds.map(describeKind),
    propertyNames: { not: { enum: ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k', 'priv'] } },
  };
}

function describeKind(kind: Kind): Record<string, unknown> {
  if (kind === 'RSA')
    return {
      title: 'RSA',
      properties: {
        kty: { const: 'RSA' },
        n: { type: 'string', pattern: '^[A-Za-z0-9_-]{342,1366}$' },
        e: { type: 'string', pattern: '^[A-Za-z0-9_-]{2,6}$' },
        ...COMMON,
      },
      required: ['kty', 'n', 'e'],
    };
  const isEdwards = kind === 'Ed25519';
  const coordinate = base64Url(isEdwards ? 43 : COORDINATES[kind]);
  return {
    title: kind,
    properties: {
      kty: { const: isEdwards ? 'OKP' : 'EC' },
      crv: { const: kind },
      x: coordinate,
      ...(isEdwards ? {} : { y: coordinate }),
      ...COMMON,
    },
    required: ['kty', 'crv', 'x', ...(isEdwards ? [] : ['y'])],
  };
}
