// Signatures of HTTP messages (RFC 9421): reads them from their two fields, and builds the bytes that are signed.
import {
  type InnerList,
  type Item,
  isInnerList,
  serializeInnerList,
  serializeItem,
} from 'structured-headers';
import { bytesOf, readDictionary, StructuredFieldError } from './structured-fields.ts';

/** One signature. `input` has the covered components, and the parameters such as `created` and `keyid`. */
export type MessageSignature = {
  readonly label: string;
  readonly input: InnerList;
  readonly signature: Uint8Array;
};

/** The values of the fields `Signature-Input` and `Signature`. */
export type SignatureFields = { readonly signatureInput: string; readonly signature: string };

/** The parameters of a signature (RFC 9421 §2.3). Times are whole Unix seconds. */
export type SignatureParameters = Readonly<
  Partial<Record<'created' | 'expires', number> & Record<'nonce' | 'alg' | 'keyid' | 'tag', string>>
>;

const PARAMETER_TYPES = {
  created: 'number',
  expires: 'number',
  nonce: 'string',
  alg: 'string',
  keyid: 'string',
  tag: 'string',
} as const;

/**
 * Reads all signatures of a message.
 * @throws StructuredFieldError when a field is malformed, or a label is not in both
 */
export function readSignatures(fields: SignatureFields): MessageSignature[] {
  const inputs = readDictionary(fields.signatureInput);
  const signatures = readDictionary(fields.signature);
  return [...inputs].map(([label, input]) => {
    const signature = bytesOf(signatures.get(label));
    if (!isInnerList(input)) throw new StructuredFieldError(`has no list of components for ${label}`);
    if (signature === undefined) throw new StructuredFieldError(`has no signature for ${label}`);
    return { label, input, signature };
  });
}

/**
 * Reads the parameters of a signature.
 * @throws StructuredFieldError for a parameter of another type, and for one that RFC 9421 does not define: it could
 *   change what the signature means
 */
export function readParameters([, parameters]: InnerList): SignatureParameters {
  return Object.fromEntries(
    [...parameters].map(([name, value]) => {
      if (!(name in PARAMETER_TYPES)) throw new StructuredFieldError(`has the unknown parameter ${name}`);
      const type = PARAMETER_TYPES[name as keyof typeof PARAMETER_TYPES];
      if (typeof value !== type)
        throw new StructuredFieldError(
          `has a parameter ${name} that is no ${type === 'number' ? 'integer' : 'string'}`,
        );
      return [name, value];
    }),
  );
}

/** Returns the names of the covered components with their parameters, such as `"@authority";req`. */
export function componentsOf([components]: InnerList): string[] {
  return components.map((component) => serializeItem(component));
}

/**
 * Builds the signature base (RFC 9421 §2.5).
 * @param componentValue returns the value of a component; undefined when the message has none
 * @throws StructuredFieldError for a component that is repeated, that is no string, or that has no value
 */
export function buildSignatureBase(
  input: InnerList,
  componentValue: (name: string, component: Item) => string | undefined,
): Uint8Array {
  const lines = new Map<string, string>();
  for (const component of input[0]) {
    const identifier = serializeItem(component);
    const [name] = component;
    if (typeof name !== 'string') throw new StructuredFieldError(`covers ${identifier}, which is no string`);
    if (lines.has(identifier)) throw new StructuredFieldError(`covers ${identifier} twice`);
    const value = componentValue(name, component);
    if (value === undefined) throw new StructuredFieldError(`covers ${identifier}, which has no value here`);
    lines.set(identifier, value);
  }
  const base = [...lines, ['"@signature-params"', serializeInnerList(input)]];
  return new TextEncoder().encode(base.map(([identifier, value]) => `${identifier}: ${value}`).join('\n'));
}
