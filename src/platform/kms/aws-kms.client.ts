// Asks AWS KMS by its own client, which finds region, address and credentials in the variables of AWS's tools.
import { DecryptCommand, EncryptCommand, KMSClient, KMSServiceException } from '@aws-sdk/client-kms';
import { ANSWER, type KeyService, KeyServiceError, type Purpose } from './key-service.client.ts';

/** The part of a policy's condition `kms:EncryptionContext:countersign`. */
const contextOf = (purpose: Purpose) => ({ countersign: purpose });

/** @returns the service; its errors are KeyServiceError */
export function openAwsKms(): KeyService {
  const client = new KMSClient({
    // `key-service.client.ts` repeats, for all services alike.
    maxAttempts: 1,
    requestHandler: { connectionTimeout: ANSWER, requestTimeout: ANSWER, throwOnRequestTimeout: true },
  });
  return {
    name: 'AWS KMS',
    place: async () => {
      const { hostname, port } = (await client.config.endpoint?.()) ?? {};
      if (hostname !== undefined) return port === undefined ? hostname : `${hostname}:${port}`;
      return client.config.region().catch(() => 'no region: set AWS_REGION');
    },
    wrap: async (key, plain, purpose) => {
      const command = new EncryptCommand({
        KeyId: key,
        Plaintext: plain,
        EncryptionContext: contextOf(purpose),
      });
      const { CiphertextBlob } = await client.send(command).catch(fail);
      return Buffer.from(CiphertextBlob ?? []).toString('base64');
    },
    unwrap: async (key, ciphertext, purpose) => {
      const command = new DecryptCommand({
        KeyId: key,
        CiphertextBlob: Buffer.from(ciphertext, 'base64'),
        EncryptionContext: contextOf(purpose),
      });
      const { Plaintext } = await client.send(command).catch(fail);
      return Plaintext ?? new Uint8Array();
    },
    close: async () => client.destroy(),
  };
}

function fail(error: Error & { code?: string }): never {
  const isAway =
    error instanceof KMSServiceException
      ? error.$fault === 'server' || error.name === 'ThrottlingException'
      : error.code !== undefined || error.name === 'TimeoutError';
  // An error of several addresses has no message of its own.
  const message = error.message || error.code || '';
  throw new KeyServiceError(error instanceof KMSServiceException ? `${error.name}: ${message}` : message, {
    isAway,
    cause: error,
  });
}
