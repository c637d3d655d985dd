// Web Bot Auth: requests to other people's sites are signed (RFC 9421), and the key stands in the directory of its
// tenant, where those sites look it up. Sources: draft-meunier-web-bot-auth-architecture,
// draft-meunier-http-message-signatures-directory.

import { AgentError } from './agent-error.ts';
import { encodeBase64, encodeBase64Url, encodeText, sha256 } from './bytes.ts';
import type { ServiceClient } from './service-client.ts';
import type { AgentKey } from './signer.ts';
import type { AgentToken } from './token-cache.ts';

/** The one signature of a message, and the member of `Signature-Agent` that belongs to it. */
const LABEL = 'sig1';

/** Seconds for which a signed request is good, and bytes of its nonce. */
const REQUEST_LIFE = 300;
const NONCE_BYTES = 32;

/** Seconds for which one signature lists a key, the most that the service takes, and how long before that it renews. */
const LISTED_LIFE = 30 * 86_400;
const RENEWED_AHEAD = 7 * 86_400;

export type WebBotAuth = ReturnType<typeof createWebBotAuth>;

type WebBotAuthNeeds = {
  client: ServiceClient;
  issuer: string;
  token: () => Promise<AgentToken>;
  now: () => number;
};

/** @param options.issuer where the directory is @param options.now the time in Unix milliseconds */
export function createWebBotAuth({ client, issuer, token, now }: WebBotAuthNeeds) {
  /** Fingerprint → Unix seconds until when its key is listed. */
  const listed = new Map<string, number>();
  /** Fingerprint → the listing under way. */
  const listings = new Map<string, Promise<void>>();
  const seconds = () => Math.floor(now() / 1000);

  async function list(key: AgentKey): Promise<void> {
    const expires = seconds() + LISTED_LIFE;
    const { input, signature } = await signComponents(key, [['"@authority";req', new URL(issuer).host]], {
      ...{ created: seconds(), expires, keyid: await thumbprintOf(key) },
      tag: 'http-message-signatures-directory',
    });
    const path = '/auth/agent/directory-signature';
    const json = { signature_input: `${LABEL}=${input}`, signature: `${LABEL}=${signature}` };
    await client.call({ path, method: 'PUT', json, accessToken: await token(), safe: true });
    listed.set(key.fingerprint, expires);
  }

  /** Lists the key; of concurrent calls one asks the service. */
  function listOnce(key: AgentKey): Promise<void> {
    const { fingerprint } = key;
    const begun = listings.get(fingerprint) ?? list(key).finally(() => listings.delete(fingerprint));
    listings.set(fingerprint, begun);
    return begun;
  }

  /** A request waits for the listing of a key that is not listed; the renewal of one that is goes on beside it. */
  async function ensureListed(key: AgentKey): Promise<void> {
    const left = (listed.get(key.fingerprint) ?? 0) - seconds();
    if (left > RENEWED_AHEAD) return;
    if (left <= 0) await listOnce(key);
    else void listOnce(key).catch(() => undefined);
  }

  return {
    /**
     * Signs a request for a site that knows nothing of the agent's issuer: it covers the host, and where the key is.
     * @returns a copy with `Signature-Agent`, `Signature-Input` and `Signature`
     * @throws {AgentError} `invalid_key` for a key that is not ed25519; what the service refuses the listing with
     */
    async sign(key: AgentKey, request: Request): Promise<Request> {
      if (key.algorithm !== 'ed25519')
        throw new AgentError('invalid_key', 'Web Bot Auth needs a key of ed25519.');
      await ensureListed(key);
      const agent = JSON.stringify(issuer);
      const created = seconds();
      const components = [
        ['"@authority"', new URL(request.url).host],
        [`"signature-agent";key="${LABEL}"`, agent],
      ] as const;
      const { input, signature } = await signComponents(key, components, {
        ...{ created, expires: created + REQUEST_LIFE, keyid: await thumbprintOf(key), alg: 'ed25519' },
        nonce: encodeBase64(crypto.getRandomValues(new Uint8Array(NONCE_BYTES))),
        tag: 'web-bot-auth',
      });
      const signed = new Request(request);
      signed.headers.set('signature-agent', `${LABEL}=${agent}`);
      signed.headers.set('signature-input', `${LABEL}=${input}`);
      signed.headers.set('signature', `${LABEL}=${signature}`);
      return signed;
    },
  };
}

/**
 * Signs components (RFC 9421 §2.5).
 * @param components their identifiers and values @param parameters of the signature, in the order that they get
 * @returns the values of `Signature-Input` and `Signature` for one label
 */
async function signComponents(
  key: AgentKey,
  components: readonly (readonly [identifier: string, value: string])[],
  parameters: Readonly<Record<string, string | number>>,
): Promise<{ input: string; signature: string }> {
  const texts = Object.entries(parameters).map(([name, value]) => `;${name}=${JSON.stringify(value)}`);
  const input = `(${components.map(([identifier]) => identifier).join(' ')})${texts.join('')}`;
  const lines = [...components, ['"@signature-params"', input] as const].map((pair) => pair.join(': '));
  return { input, signature: `:${encodeBase64(await key.sign(encodeText(lines.join('\n'))))}:` };
}

/** The thumbprint of the key's JWK (RFC 7638), which is its name in the directory. */
async function thumbprintOf({ publicKey }: AgentKey): Promise<string> {
  const jwk = { crv: 'Ed25519', kty: 'OKP', x: encodeBase64Url(publicKey) };
  return encodeBase64Url(await sha256(encodeText(JSON.stringify(jwk))));
}
