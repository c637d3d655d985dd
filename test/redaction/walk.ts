// A walk through every operation of the service: each with a failing path, most with a good one, all secrets noted.
import { createHash, generateKeyPairSync, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { SignJWT } from 'jose';
import type { Processes } from './processes.ts';
import type { Secrets } from './secrets.ts';

type Operation = {
  readonly method: string;
  readonly path: string;
  readonly id: string;
  readonly examples: readonly unknown[];
  readonly isForm: boolean;
};
export type Answer = {
  readonly status: number;
  readonly body: Record<string, unknown>;
  readonly headers: Headers;
};
type Sent = { headers?: Record<string, string>; body?: unknown; form?: Record<string, string> };
export type Walker = ReturnType<typeof createWalker>;

/** Members of answers that are secret. */
const SECRET_MEMBERS = {
  client_secret: 'client secret',
  access_token: 'access token',
  refresh_token: 'refresh token',
  secret: 'webhook secret',
  token: 'enrollment token',
} as const;

/** The operations of openapi.json, those last that take something away. */
export function listOperations(): Operation[] {
  const { paths } = JSON.parse(readFileSync('openapi.json', 'utf8')) as {
    paths: Record<
      string,
      Record<
        string,
        {
          operationId?: string;
          requestBody?: { content: Record<string, { examples?: Record<string, { value: unknown }> }> };
        }
      >
    >;
  };
  const late = (id: string) => Number(/^(delete|revoke|remove|suspend|reactivate|cancel)/.test(id));
  return Object.entries(paths)
    .flatMap(([path, methods]) =>
      Object.entries(methods).flatMap(([method, { operationId: id, requestBody }]) => {
        const [type, content] = Object.entries(requestBody?.content ?? {})[0] ?? [];
        const examples = Object.values(content?.examples ?? {}).map(({ value }) => value);
        return id === undefined
          ? []
          : [{ method: method.toUpperCase(), path, id, examples, isForm: type?.includes('form') === true }];
      }),
    )
    .sort((left, right) => late(left.id) - late(right.id));
}

/** Sends requests, and notes the secrets of both sides and the answers that tell of an error. */
export function createWalker({ origin, port }: Pick<Processes, 'origin' | 'port'>, secrets: Secrets) {
  const errors: string[] = [];
  const refused = new Map<string, number>();
  const succeeded = new Map<string, number>();

  const send = async (
    method: string,
    path: string,
    { headers = {}, body, form }: Sent = {},
  ): Promise<Answer> => {
    const { authorization } = headers;
    if (authorization !== undefined) secrets.add('authorization header', authorization);
    const response = await fetch(origin + path, {
      method,
      headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
      ...(form !== undefined ? { body: new URLSearchParams(form) } : {}),
      ...(body !== undefined ? { body: typeof body === 'string' ? body : JSON.stringify(body) } : {}),
    });
    const text = await response.text();
    if (response.status >= 400) errors.push(JSON.stringify([...response.headers]) + text);
    const read = text.startsWith('{') ? (JSON.parse(text) as Record<string, unknown>) : {};
    for (const [member, kind] of Object.entries(SECRET_MEMBERS))
      if (typeof read[member] === 'string') secrets.add(kind, read[member]);
    return { status: response.status, body: read, headers: response.headers };
  };
  /** The same for an operation of the list, whose outcome is counted. */
  const ask = async (
    { id, method, path }: Operation,
    ids: Readonly<Record<string, string>>,
    sent: Sent,
    query = '',
  ) => {
    const answer = await send(
      method,
      path.replaceAll(/\{(\w+)\}/g, (_, name) => ids[`${path} ${name}`] ?? ids[name] ?? randomUUID()) + query,
      sent,
    );
    const counts = answer.status >= 400 ? refused : succeeded;
    counts.set(id, (counts.get(id) ?? 0) + 1);
    return answer;
  };
  /** Sends bytes that are no HTTP request. */
  const sendRaw = (text: string): Promise<void> =>
    new Promise((resolve, reject) => {
      const socket = connect(port, '127.0.0.1', () => socket.end(text));
      let answer = '';
      socket.setEncoding('utf8').on('data', (part: string) => {
        answer += part;
      });
      socket.on('close', () => resolve(void errors.push(answer))).on('error', reject);
    });
  return { send, sendRaw, ask, secrets, errors, refused, succeeded };
}

/** Every operation with secrets in the wrong places: no token, a token in the query, a wrong token, a wrong body. */
export async function failEverywhere(walker: Walker, token: string): Promise<void> {
  const { secrets, ask, refused } = walker;
  const wrong = () => secrets.plant('secret in the wrong place');
  for (const operation of listOperations()) {
    const hasBody = ['POST', 'PUT', 'PATCH'].includes(operation.method);
    const spoil = (value: unknown): unknown =>
      typeof value === 'object' && value !== null
        ? Array.isArray(value)
          ? value.map(spoil)
          : Object.fromEntries(Object.entries(value).map(([name, part]) => [name, spoil(part)]))
        : wrong();
    const given = {
      secret: wrong(),
      token: wrong(),
      client_secret: wrong(),
      public_key: wrong(),
      signature: wrong(),
    };
    const bodies = hasBody ? [...operation.examples.map(spoil), given, `{"secret":"${wrong()}`] : [undefined];
    for (const body of bodies)
      for (const authorization of [
        `Bearer ${token}`,
        `Bearer ${wrong()}`,
        `Basic ${btoa(`${wrong()}:${wrong()}`)}`,
        `DPoP ${wrong()}`,
      ]) {
        const headers = { authorization, dpop: wrong(), 'idempotency-key': wrong(), cookie: wrong() };
        const isForm = operation.isForm && typeof body === 'object';
        await ask(operation, {}, { headers, ...(isForm ? { form: flat(body) } : { body }) });
      }
    await ask(
      operation,
      {},
      hasBody ? { body: {} } : {},
      `?access_token=${wrong()}&limit=${wrong()}&cursor=${wrong()}`,
    );
    // What has no way to fail is asked by a method that it does not have.
    if (!refused.has(operation.id))
      await ask({ ...operation, method: 'DELETE' }, {}, { headers: { authorization: `Bearer ${wrong()}` } });
  }
  for (const name of ['Authorization', 'DPoP', 'Cookie'])
    await walker.sendRaw(
      `GET /userinfo HTTP/1.1\r\nHost: a\r\n${name}: Bearer ${wrong()}\r\nbad header\r\n\r\n`,
    );
}

function flat(body: unknown): Record<string, string> {
  return Object.fromEntries(
    Object.entries(body as Record<string, unknown>).map(([name, value]) => [name, String(value)]),
  );
}

/** A key of Node for signing, whose private half is a secret in all its forms. */
export function makeKey(secrets: Secrets, curve: 'P-256' | 'ed25519') {
  const { privateKey, publicKey } =
    curve === 'P-256' ? generateKeyPairSync('ec', { namedCurve: curve }) : generateKeyPairSync('ed25519');
  const jwk = privateKey.export({ format: 'jwk' });
  secrets.add('private key', jwk.d ?? '');
  secrets.add('private key', Buffer.from(jwk.d ?? '', 'base64url').toString('hex'));
  const pem = privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
  secrets.add('private key', pem.split('\n')[1] ?? '');
  const alg = curve === 'P-256' ? 'ES256' : 'EdDSA';
  const publicJwk = publicKey.export({ format: 'jwk' });
  const sign = (kind: string, header: object, claims: object) =>
    new SignJWT({ ...claims })
      .setProtectedHeader({ alg, ...header })
      .sign(privateKey)
      .then((text) => secrets.add(kind, text));
  return {
    pem,
    privateJwk: jwk,
    publicJwk,
    assertion: (clientId: string, audience: string) => {
      const now = Math.floor(Date.now() / 1000);
      const claims = {
        iss: clientId,
        sub: clientId,
        aud: audience,
        exp: now + 60,
        iat: now,
        jti: randomUUID(),
      };
      return sign('client assertion', { kid: 'k' }, claims);
    },
    proof: (method: string, url: string, nonce?: string, token?: string) => {
      const ath = token === undefined ? {} : { ath: createHash('sha256').update(token).digest('base64url') };
      const claims = {
        htm: method,
        htu: url,
        iat: Math.floor(Date.now() / 1000),
        jti: randomUUID(),
        nonce,
        ...ath,
      };
      return sign('DPoP proof', { typ: 'dpop+jwt', jwk: publicJwk }, claims);
    },
  };
}
