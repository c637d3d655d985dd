// The form of a wrapped key in a setting: the key service, its key, and what it made of 32 bytes.

/** What each service takes as the name of a key. */
const KEY_NAMES = {
  /** AWS KMS: an id, an ARN or an alias. */
  awskms: /^[\w:/-]+$/,
  /** The Transit engine of HashiCorp Vault: where it is mounted, and the name. */
  vault: /^\w[\w.-]*(\/\w[\w.-]*)+$/,
};

/** A key of a key service. */
export type ServiceKey = { readonly service: keyof typeof KEY_NAMES; readonly key: string };

/** `ciphertext`: base64, of Vault behind its prefix `vault:v<version>:`. */
export type WrappedKey = ServiceKey & { readonly ciphertext: string };

/** Splits `awskms:<key>` or `vault:<mount>/<name>`. @returns undefined for another form */
export function parseServiceKey(text: string): ServiceKey | undefined {
  const at = text.indexOf(':');
  const [service, key] = [text.slice(0, Math.max(at, 0)), text.slice(at + 1)];
  if (service !== 'awskms' && service !== 'vault') return undefined;
  return KEY_NAMES[service].test(key) ? { service, key } : undefined;
}

/**
 * Splits `awskms:<key>:<ciphertext>` or `vault:<mount>/<name>:vault:v<version>:<ciphertext>`.
 * @returns undefined for another form
 */
export function parseWrappedKey(text: string): WrappedKey | undefined {
  const end = text.startsWith('vault:') ? text.indexOf(':vault:') : text.lastIndexOf(':');
  const by = parseServiceKey(text.slice(0, Math.max(end, 0)));
  const ciphertext = text.slice(end + 1);
  const form = by?.service === 'vault' ? /^vault:v\d{1,9}:[\w+/]+={0,2}$/ : /^[\w+/]+={0,2}$/;
  return by !== undefined && form.test(ciphertext) ? { ...by, ciphertext } : undefined;
}

export const writeWrappedKey = ({ service, key, ciphertext }: WrappedKey): string =>
  `${service}:${key}:${ciphertext}`;
