// JSON Schemas of public JWKs, for the OpenAPI document.
import { JWK_CURVES, type JwkKind, PRIVATE_MEMBERS } from './jwk.ts';

const base64Url = (characters: number) => ({
  type: 'string',
  pattern: `^[A-Za-z0-9_-]{${characters}}$`,
});

const KID = { type: 'string', minLength: 1, maxLength: 255 };

/**
 * JSON Schema (2020-12) of public keys of these kinds (RFC 7518 §6, RFC 8037 §2, RFC 8812 §3.1). Unknown members are
 * allowed, members of private keys are not.
 * @param id name of the schema among the components of the OpenAPI document
 * @param kinds curves, and `RSA`
 * @param uses values of `use`, which may be absent
 */
export function describeJwk(
  id: string,
  kinds: readonly JwkKind[],
  uses: readonly string[] = ['sig'],
): Record<string, unknown> & { id: string } {
  const common = { kid: KID, use: uses.length === 1 ? { const: uses[0] } : { enum: uses } };
  return {
    id,
    oneOf: kinds.map((kind) => ({
      title: `${id}${kind.replace('-', '')}`,
      type: 'object',
      ...describeKind(kind, common),
      propertyNames: { not: { enum: PRIVATE_MEMBERS } },
    })),
  };
}

function describeKind(kind: JwkKind, common: Record<string, unknown>): Record<string, unknown> {
  if (kind === 'RSA')
    return {
      properties: {
        kty: { type: 'string', const: 'RSA' },
        n: { type: 'string', pattern: '^[A-Za-z0-9_-]{342,1366}$' },
        e: { type: 'string', pattern: '^[A-Za-z0-9_-]{2,6}$' },
        ...common,
      },
      required: ['kty', 'n', 'e'],
    };
  const { kty, coordinates, bytes } = JWK_CURVES[kind];
  const coordinate = base64Url(Math.ceil((bytes * 8) / 6));
  return {
    properties: {
      kty: { type: 'string', const: kty },
      crv: { type: 'string', const: kind },
      ...Object.fromEntries(coordinates.map((name) => [name, coordinate])),
      ...common,
    },
    required: ['kty', 'crv', ...coordinates],
  };
}
