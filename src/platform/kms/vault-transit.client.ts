// Asks the Transit engine of HashiCorp Vault by its HTTP interface.
import { readFileSync } from 'node:fs';
import { Agent, request } from 'undici';
import { z } from 'zod';
import { ConfigError, type VaultSettings } from '../config.ts';
import { ANSWER, type KeyService, KeyServiceError, type Purpose } from './key-service.client.ts';

const answerSchema = z.object({
  data: z.object({ ciphertext: z.string().optional(), plaintext: z.string().optional() }).optional(),
  errors: z.array(z.string()).optional(),
});

/** Additional data of the encryption (AEAD): key types `aes256-gcm96`, `aes128-gcm96` and `chacha20-poly1305`. */
const dataOf = (purpose: Purpose) => Buffer.from(`countersign ${purpose}`).toString('base64');

/**
 * @param settings VAULT_ADDR, VAULT_TOKEN and so on
 * @returns the service; its errors are KeyServiceError
 * @throws ConfigError when a setting is missing, or the certificate authority cannot be read
 */
export function openVaultTransit({ address, token, namespace, caFile }: VaultSettings): KeyService {
  if (address === undefined)
    throw new ConfigError('VAULT_ADDR', 'is required for a key that Vault has wrapped');
  if (token === undefined)
    throw new ConfigError('VAULT_TOKEN', 'is required for a key that Vault has wrapped');
  const agent = new Agent({
    connect: caFile === undefined ? {} : { ca: readAuthorities(caFile) },
    connectTimeout: ANSWER,
  });
  const headers = {
    'content-type': 'application/json',
    'x-vault-token': token,
    ...(namespace === undefined ? {} : { 'x-vault-namespace': namespace }),
  };

  /** @param key `<mount>/<name>` */
  async function post(act: 'encrypt' | 'decrypt', key: string, body: Record<string, string>) {
    const cut = key.lastIndexOf('/');
    const url = `${address}/v1/${key.slice(0, cut)}/${act}/${key.slice(cut + 1)}`;
    const sent = { method: 'POST', headers, body: JSON.stringify(body), dispatcher: agent } as const;
    const { statusCode, body: answered } = await request(url, {
      ...sent,
      headersTimeout: ANSWER,
      bodyTimeout: ANSWER,
    }).catch(fail);
    const answer = answerSchema.safeParse(await answered.json().catch(() => undefined)).data;
    if (statusCode === 200 && answer?.data !== undefined) return answer.data;
    const reasons = answer?.errors?.map((one) => one.trim().replaceAll(/\s+/g, ' ')).join('; ');
    // A sealed or starting Vault answers 503, a standby without its leader 5xx; 412 is a replica that lags.
    throw new KeyServiceError(reasons ? `${statusCode}, ${reasons}` : String(statusCode), {
      isAway: statusCode >= 500 || statusCode === 429 || statusCode === 412,
    });
  }

  return {
    name: 'Vault',
    place: async () => address,
    wrap: async (key, plain, purpose) => {
      const plaintext = Buffer.from(plain).toString('base64');
      const { ciphertext = '' } = await post('encrypt', key, { plaintext, associated_data: dataOf(purpose) });
      return ciphertext;
    },
    unwrap: async (key, ciphertext, purpose) => {
      const { plaintext = '' } = await post('decrypt', key, { ciphertext, associated_data: dataOf(purpose) });
      return Buffer.from(plaintext, 'base64');
    },
    close: () => agent.close(),
  };
}

function readAuthorities(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new ConfigError('VAULT_CACERT', `cannot be read: ${(error as Error).message}`);
  }
}

function fail(error: Error & { code?: string }): never {
  // An error of several addresses has no message of its own.
  throw new KeyServiceError(error.message || (error.code ?? ''), { isAway: true, cause: error });
}
