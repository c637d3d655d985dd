// The signature suites of deliveries. A new suite is a new entry in `SUITES`. Pure.

/** The MAC of a suite, the headers of its signatures, and the form of a signature. */
export type SignatureSuite = {
  /** The value of `X-Service-Signature-Suite`, and the first line of the canonical string. */
  readonly name: string;
  readonly hash: 'sha256' | 'sha512';
  /** The header of the signature by the current secret. */
  readonly signatureHeader: string;
  /** The header of the signature by the next secret, during the overlap of a rotation. */
  readonly nextSignatureHeader: string;
  /** The text before the lowercase hex digits of the MAC. */
  readonly prefix: string;
  readonly length: number;
};

/** The suite with which deliveries are signed. Specification: Events, Signature. */
export const WEBHOOK_V1 = 'service-webhook-v1';

export const SUITES: readonly SignatureSuite[] = [
  {
    name: WEBHOOK_V1,
    hash: 'sha256',
    signatureHeader: 'X-Service-Signature-256',
    nextSignatureHeader: 'X-Service-Signature-256-Next',
    prefix: 'sha256=',
    length: 32,
  },
];

/** @returns undefined for an unknown suite, which a receiver must reject */
export function findSuite(name: string): SignatureSuite | undefined {
  return SUITES.find((suite) => suite.name === name);
}

/** Writes a MAC as the value of a signature header. @param hex the MAC in lowercase hex */
export function formatSignature(suite: SignatureSuite, hex: string): string {
  return suite.prefix + hex;
}

/** Reads the MAC in lowercase hex from a signature header; undefined when the value does not have the suite's form. */
export function parseSignature(suite: SignatureSuite, value: string): string | undefined {
  if (!value.startsWith(suite.prefix)) return undefined;
  const hex = value.slice(suite.prefix.length);
  return hex.length === suite.length * 2 && /^[0-9a-f]+$/.test(hex) ? hex : undefined;
}
