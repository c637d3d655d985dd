// The client of one agent: tokens that renew themselves, a fetch that sends them, and the agent's keys.

import { AgentError } from './agent-error.ts';
import { createAuthentication, type ExchangeOptions } from './authentication.ts';
import { createProver } from './dpop.ts';
import {
  type AgentSelf,
  beginRotation,
  type Enrollment,
  enrollKey,
  type KeyRotation,
  readSelf,
} from './key-rotation.ts';
import { generateKey, importSigner, type KeyInput, type PrivateJwk } from './private-key.ts';
import { createServiceClient } from './service-client.ts';
import { type AgentKey, describeSigner } from './signer.ts';
import { type AgentToken, createTokenCache } from './token-cache.ts';
import { createTokenFetch } from './token-fetch.ts';
import { createWebBotAuth } from './web-bot-auth.ts';

export type AgentOptions = {
  /** The tenant's issuer address, `issuer_url`. */
  readonly issuer: string;
  /** The agent's key: PEM (PKCS #8), a private JWK, or a signer that asks a vault or key management service. */
  readonly key: KeyInput;
  /** The scopes of tokens for which none are named; `openid` by default. */
  readonly scope?: string | undefined;
  /** The audience of tokens for which none is named: one of the agent's `audiences`. */
  readonly resource?: string | undefined;
  /** Binds tokens to a key (RFC 9449): `true` for a new key that never leaves this process, or a key of your own. */
  readonly dpop?: boolean | KeyInput | undefined;
  /** The longest `Retry-After` of 429 and 503 that is waited for, in seconds; 30 by default. */
  readonly maxWaitSeconds?: number | undefined;
  readonly fetch?: typeof globalThis.fetch | undefined;
  /** The time in Unix milliseconds; `Date.now` by default. */
  readonly now?: (() => number) | undefined;
};

/** What a token is for, where it is not what the agent's options say. */
export type TokenOptions = { readonly scope?: string | undefined; readonly resource?: string | undefined };

export type RotationOptions = {
  /** The new key; without it one is made, of the present algorithm or ed25519. */
  readonly key?: KeyInput | undefined;
  /** Stores a key that is made here: after the service has registered it, and before its first use ends the old one. */
  readonly save?: ((key: PrivateJwk) => void | Promise<void>) | undefined;
  readonly label?: string | undefined;
  /** How long both keys work after the first use of the new one; 7 days by default. */
  readonly overlapSeconds?: number | undefined;
};

export type Agent = Awaited<ReturnType<typeof createAgent>>;

/**
 * Creates the client of one agent. No request is sent before a token is needed.
 * @throws {AgentError} `invalid_key`
 * @throws {TypeError} when the issuer is no address
 */
export async function createAgent(options: AgentOptions) {
  const { fetch = globalThis.fetch, now = Date.now, maxWaitSeconds = 30, dpop = false } = options;
  if (!URL.canParse(options.issuer))
    throw new TypeError('issuer: the issuer_url of the tenant, such as https://id.example.com/t/acme.');
  const issuer = options.issuer.endsWith('/') ? options.issuer.slice(0, -1) : options.issuer;
  let key = await describeSigner(await importSigner(options.key));
  const prover = await proverOf(dpop, now);
  const client = createServiceClient({ issuer, prover, maxWaitSeconds, fetch: (...all) => fetch(...all) });
  const authentication = createAuthentication({ client, now });
  const tokens = createTokenCache({
    issue: (request, refreshToken) => authentication.issue(key, request, refreshToken),
    now,
  });

  const requestOf = ({ scope, resource }: TokenOptions) => ({
    scope: scope ?? options.scope ?? 'openid',
    resource: resource ?? options.resource,
  });
  const getToken = (wanted: TokenOptions = {}): Promise<AgentToken> => tokens.get(requestOf(wanted));

  const webBotAuth = createWebBotAuth({ client, issuer, token: () => getToken(), now });

  return {
    /** The name of the present key: SHA-256 of its public half in hex. */
    get fingerprint(): string {
      return key.fingerprint;
    },

    /**
     * Registers the key by an enrollment token.
     * @param enrollment what `POST /api/v1/agents/{agent_id}/enrollment-tokens` has answered
     */
    enroll: (enrollment: Enrollment, { label }: { label?: string | undefined } = {}): Promise<void> =>
      enrollKey(client, key, enrollment, label),

    /** Returns a token that is good for some time; of concurrent calls for one purpose, one asks the service. */
    getToken,

    /**
     * `fetch` with the agent's token, and a DPoP proof where the token is bound. Use it for the agent's audiences only.
     */
    fetch: (
      input: string | URL | Request,
      init?: RequestInit,
      wanted: TokenOptions = {},
    ): Promise<Response> =>
      createTokenFetch({
        token: () => getToken(wanted),
        drop: tokens.drop,
        prover,
        fetch: (...all) => fetch(...all),
      })(new Request(input, init)),

    /**
     * `fetch` for other people's sites: without a token, signed by Web Bot Auth, with the key listed in the directory
     * of the tenant, which is renewed as long as requests are signed. A redirect to another host is not signed anew.
     * @throws {AgentError} `invalid_key` for a key that is not ed25519
     */
    fetchSigned: async (input: string | URL | Request, init?: RequestInit): Promise<Response> =>
      fetch(await webBotAuth.sign(key, new Request(input, init))),

    /** The agent as the service knows it, with its keys. */
    self: async (): Promise<AgentSelf> => readSelf(client, await getToken()),

    /**
     * Puts a new key in the place of the present one, and goes on with it. When it fails half-way, the service takes
     * both keys: the agent goes on with the old one, and an agent that starts from the saved one works, too.
     */
    async rotateKey({ key: given, save, label, overlapSeconds }: RotationOptions = {}): Promise<KeyRotation> {
      const made =
        given === undefined ? await generateKey(key.algorithm === 'es256' ? 'es256' : 'ed25519') : undefined;
      const next = await describeSigner(await importSigner(given ?? made ?? {}));
      const settings = { label, overlap_seconds: overlapSeconds };
      const rotation = await beginRotation(client, await getToken(), { from: key, to: next }, settings);
      if (made !== undefined) await save?.(made);
      await authentication.authenticate(next, requestOf({}));
      key = next;
      tokens.clear();
      return rotation;
    },

    /** Exchanges a user's token for one with which the agent acts for the user (RFC 8693). */
    exchange: async (userToken: string, wanted: ExchangeOptions): Promise<AgentToken> =>
      authentication.exchange(await getToken(), userToken, wanted),
  };
}

async function proverOf(dpop: boolean | KeyInput, now: () => number) {
  if (dpop === false) return undefined;
  const signer = await importSigner(dpop === true ? await generateKey('es256') : dpop);
  const key: AgentKey = await describeSigner(signer);
  if (key.proof === undefined)
    throw new AgentError('invalid_key', 'DPoP proofs need a key of ed25519 or es256.');
  return createProver({ key, now });
}
