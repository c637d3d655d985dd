// AWS KMS and Vault Transit at the edge of the network: their wire, as moto 5.2 and Vault 1.21 answer it, over keys of
// the test. `npm run judges -- kms` asks the real programs the same.
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

type Answer = readonly [status: number, body: Record<string, unknown>];

const TOKEN = 'hvs.of-the-test';
const REGION = 'eu-west-1';

function encrypt(key: Buffer, plain: Buffer, bound: string): Buffer {
  const nonce = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(bound));
  return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
}

/** @returns undefined for what this key has not made, or not bound to this text */
function decrypt(key: Buffer, box: Buffer, bound: string): Buffer | undefined {
  try {
    const cipher = createDecipheriv('aes-256-gcm', key, box.subarray(0, 12)).setAAD(Buffer.from(bound));
    cipher.setAuthTag(box.subarray(-16));
    return Buffer.concat([cipher.update(box.subarray(12, -16)), cipher.final()]);
  } catch {
    return undefined;
  }
}

const base64 = (text: unknown) => Buffer.from(String(text), 'base64');

function answerKms(keys: Map<string, Buffer>, act: string, body: Record<string, unknown>): Answer {
  const id = String(body.KeyId);
  const key = keys.get(id);
  const bound = JSON.stringify(body.EncryptionContext);
  if (key === undefined) return [400, { __type: 'NotFoundException', message: `Alias ${id} is not found.` }];
  if (act === 'TrentService.Encrypt')
    return [
      200,
      { KeyId: id, CiphertextBlob: encrypt(key, base64(body.Plaintext), bound).toString('base64') },
    ];
  const plain = decrypt(key, base64(body.CiphertextBlob), bound);
  if (plain === undefined) return [400, { __type: 'InvalidCiphertextException' }];
  return [200, { KeyId: id, Plaintext: plain.toString('base64') }];
}

function answerVault(
  keys: Map<string, Buffer>,
  request: IncomingMessage,
  body: Record<string, unknown>,
): Answer {
  const [, mount, act, name] = /^\/v1\/(.+)\/(encrypt|decrypt)\/([^/]+)$/.exec(request.url ?? '') ?? [];
  const key = keys.get(`${mount}/${name}`);
  if (request.headers['x-vault-token'] !== TOKEN) return [403, { errors: ['permission denied'] }];
  if (key === undefined) return [400, { errors: ['encryption key not found'] }];
  const bound = String(body.associated_data);
  if (act === 'encrypt') {
    const ciphertext = `vault:v1:${encrypt(key, base64(body.plaintext), bound).toString('base64')}`;
    return [200, { data: { ciphertext, key_version: 1 } }];
  }
  const plain = decrypt(key, base64(String(body.ciphertext).slice('vault:v1:'.length)), bound);
  if (plain === undefined) return [400, { errors: ['cipher: message authentication failed'] }];
  return [200, { data: { plaintext: plain.toString('base64') } }];
}

/**
 * Starts both services on one port, with the keys `alias/countersign` and `transit/countersign`.
 * @returns `env`, the settings with which they are asked; `asked`, the number of requests; `answer`, which makes all
 *   later requests get one answer; `close`, after which nobody listens
 */
export async function startKeyServices() {
  const keys = new Map(['alias/countersign', 'transit/countersign'].map((name) => [name, randomBytes(32)]));
  let asked = 0;
  const waiting: Answer[] = [];
  const server = createServer((request, response) => {
    asked += 1;
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = JSON.parse(Buffer.concat(chunks).toString()) as Record<string, unknown>;
      const target = request.headers['x-amz-target'];
      const [status, answer] =
        waiting.shift() ??
        (target === undefined ? answerVault(keys, request, body) : answerKms(keys, String(target), body));
      const type = target === undefined ? 'application/json' : 'application/x-amz-json-1.1';
      response.writeHead(status, { 'content-type': type }).end(JSON.stringify(answer));
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const close = async () => {
    server.closeAllConnections();
    if (server.listening) await new Promise((resolve) => server.close(resolve));
  };
  onTestFinished(close);
  return {
    url,
    env: {
      AWS_REGION: REGION,
      AWS_ENDPOINT_URL_KMS: url,
      AWS_ACCESS_KEY_ID: 'test',
      AWS_SECRET_ACCESS_KEY: 'test',
      VAULT_ADDR: url,
      VAULT_TOKEN: TOKEN,
    },
    asked: () => asked,
    /** The next requests get these answers, before the services answer again. */
    answer: (...answers: Answer[]) => void waiting.push(...answers),
    close,
  };
}
