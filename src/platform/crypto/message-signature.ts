// Signatures of HTTP messages (RFC 9421): reads them from their two fields, and builds the bytes that are signed.
import {
  type InnerList,
  type Item,
  isInnerList,
  parseDictionary,
  StructuredFieldError,
  serializeInnerList,
  serializeItem,
} from './structured-fields.ts';

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
  created: 'integer',
  expires: 'integer',
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
  const inputs = parseDictionary(fields.signatureInput);
  const signatures = parseDictionary(fields.signature);
  return [...inputs].map(([label, input]) => {
    const signature = signatures.get(label);
    if (!isInnerList(input)) throw new StructuredFieldError(`has no list of components for ${label}`);
    if (signature === undefined || isInnerList(signature) || signature.value.type !== 'bytes')
      throw new StructuredFieldError(`has no signature for ${label}`);
    return { label, input, signature: signature.value.value };
  });
}

/**
 * Reads the parameters of a signature.
 * @throws StructuredFieldError for a parameter of another type, and for one that RFC 9421 does not define: it could
 *   change what the signature means
 */
export function readParameters({ parameters }: InnerList): SignatureParameters {
  return Object.fromEntries(
    [...parameters].map(([name, { type, value }]) => {
      if (!(name in PARAMETER_TYPES)) throw new StructuredFieldError(`has the unknown parameter ${name}`);
      if (PARAMETER_TYPES[name as keyof typeof PARAMETER_TYPES] !== type)
        throw new StructuredFieldError(
          `has a parameter ${name} that is no ${type === 'string' ? 'integer' : 'string'}`,
        );
      return [name, value];
    }),
  );
}

/** Returns the names of the covered components with their parameters, such as `"@authority";req`. */
export function componentsOf({ items }: InnerList): string[] {
  return items.map(serializeItem);
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
  for (const component of input.items) {
    const identifier = serializeItem(component);
    if (component.value.type !== 'string')
      throw new StructuredFieldError(`covers ${identifier}, which is no string`);
    if (lines.has(identifier)) throw new StructuredFieldError(`covers ${identifier} twice`);
    const value = componentValue(component.value.value, component);
    if (value === undefined) throw new StructuredFieldError(`covers ${identifier}, which has no value here`);
    lines.set(identifier, value);
  }
  const base = [...lines, ['"@signature-params"', serializeInnerList(input)]];
  return new TextEncoder().encode(base.map(([identifier, value]) => `${identifier}: ${value}`).join('\n'));
}
