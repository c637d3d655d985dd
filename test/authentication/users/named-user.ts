// A user whose name and addresses stand nowhere else, and everything that an agent and a tenant do with them over HTTP.

import { randomBytes } from 'node:crypto';
import { sha256 } from '@noble/hashes/sha2.js';
import { parse, stringify } from 'uuid';
import type { Processes } from '../../redaction/processes.ts';
import { createSecrets } from '../../redaction/secrets.ts';
import { ISSUER, newKey } from '../trusted-issuers/identity-provider.ts';

/** Where the requests of the tenant's own systems come from. */
const SERVER = '192.0.2.1';

const TYPE = 'urn:ietf:params:oauth:token-type';
const EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';
const IN_AN_HOUR = () => new Date(Date.now() + 3_600_000).toISOString();

type Json = Readonly<Record<string, unknown>>;
export type Asked = { readonly status: number; readonly body: Json };
type Sent = { readonly body?: unknown; readonly form?: Record<string, string>; readonly token?: string };

/** An IPv6 address for documentation (RFC 3849) that nobody else has. */
const newAddress = () =>
  `2001:db8:${Array.from({ length: 6 }, () => (randomBytes(2).readUInt16BE() | 0x1000).toString(16)).join(':')}`;

/** A digest of the name that everyone can compute, as a UUID: it would tell who is meant to those who guess. */
function digestOf(tenantId: string, sub: string): string {
  const name = new TextEncoder().encode(JSON.stringify([ISSUER, sub]));
  const bytes = sha256(Uint8Array.of(...parse(tenantId), ...name)).slice(0, 16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x80;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return stringify(bytes);
}

/** A user of the issuer `ISSUER`: a name, the address of its acts, and the digest of its name without a key. */
export function inventUser() {
  const search = createSecrets();
  const sub = search.add('name', `ada-${randomBytes(9).toString('hex')}`);
  const address = search.add('address', newAddress());
  const findIn = (text: string) => [...new Set(search.findIn(text).map((one) => one.replace(/ in .*/, '')))];
  const noteDigest = (tenantId: string) => search.add('digest', digestOf(tenantId, sub));
  return { sub, address, findIn, noteDigest };
}
export type NamedUser = ReturnType<typeof inventUser>;

/** Signs in as the first application of the tenant, and gives the tenant an agent and a trusted issuer. */
export async function openTenant({ origin, tenant }: Pick<Processes, 'origin' | 'tenant'>) {
  const send = async (method: string, path: string, from: string, sent: Sent & { basic?: string } = {}) => {
    const { body, form, token, basic } = sent;
    const response = await fetch(origin + path, {
      method,
      headers: {
        'x-forwarded-for': from,
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(basic === undefined ? {} : { authorization: `Basic ${btoa(basic)}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(method === 'POST' && body !== undefined
          ? { 'idempotency-key': randomBytes(8).toString('hex') }
          : {}),
      },
      ...(form === undefined ? {} : { body: new URLSearchParams(form) }),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, body: (text === '' ? {} : JSON.parse(text)) as Json };
  };
  const signIn = async (basic: string) =>
    String(
      (await send('POST', '/oauth/token', SERVER, { form: { grant_type: 'client_credentials' }, basic })).body
        .access_token,
    );
  const admin = await signIn(`${tenant.client_id}:${tenant.client_secret}`);
  const manage = async (method: string, path: string, body?: unknown, from = SERVER) => {
    const answer = await send(method, `/api/v1${path}`, from, { token: admin, body });
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  const key = await newKey();
  const issuer = ISSUER;
  await manage('POST', '/trusted-issuers', {
    issuer,
    jwks: { keys: [key.jwk] },
    audiences: ['https://app.example'],
  });
  const scopes = ['openid', 'email'];
  const newAgent = async () => {
    const agent = String((await manage('POST', '/agents', { name: 'Robot', scopes })).id);
    const application = { name: 'Robot', scopes, agent_id: agent };
    const { client_id, client_secret } = await manage('POST', '/applications', application);
    return { id: agent, token: await signIn(`${client_id}:${client_secret}`) };
  };
  const exchanger = await manage('POST', '/applications', { name: 'App', scopes, grant_types: [EXCHANGE] });
  const basic = `${exchanger.client_id}:${exchanger.client_secret}`;

  return {
    manage,
    send,
    issuer,
    newAgent,
    delegate: ({ sub, address }: NamedUser, agentId: string): Promise<Json> =>
      manage(
        'POST',
        '/delegations',
        { subject: { issuer, sub }, agent_id: agentId, scopes: ['openid'], expires_at: IN_AN_HOUR() },
        address,
      ),
    /** @param subject another token in place of one that the user's issuer signs */
    exchange: async (
      { sub, address }: NamedUser,
      actor: string,
      { subject, from = address }: { subject?: string; from?: string } = {},
    ): Promise<Asked> =>
      send('POST', '/oauth/token', from, {
        basic,
        form: {
          grant_type: EXCHANGE,
          subject_token: subject ?? (await key.sign({ iss: issuer, sub, aud: 'https://app.example' })),
          subject_token_type: subject === undefined ? `${TYPE}:id_token` : `${TYPE}:access_token`,
          actor_token: actor,
          actor_token_type: `${TYPE}:access_token`,
        },
      }),
    introspect: (token: string) => send('POST', '/oauth/introspect', SERVER, { basic, form: { token } }),
    revokeToken: (token: string, { address }: NamedUser) =>
      send('POST', '/oauth/revoke', address, { basic, form: { token } }),
  };
}
export type OpenTenant = Awaited<ReturnType<typeof openTenant>>;

/**
 * Lives through each path that can name a user: delegations made, used, revoked and left; tokens exchanged, exchanged
 * again by a second agent, used where they may be and where not, introspected and revoked; refusals.
 * @returns a delegated token that is still valid
 */
export async function liveAsUser(tenant: OpenTenant, user: NamedUser): Promise<string> {
  const { address } = user;
  const [first, second] = [await tenant.newAgent(), await tenant.newAgent()];
  const ended = await tenant.delegate(user, first.id);
  const refused = await tenant.newAgent();
  await tenant.exchange(user, refused.token, { from: SERVER });
  await tenant.exchange(user, first.token);
  await tenant.manage(
    'POST',
    `/delegations/${ended.id}/revoke`,
    { reason: `${user.sub} asked for it` },
    address,
  );
  await tenant.exchange(user, first.token, { from: SERVER });
  await tenant.delegate(user, first.id);
  await tenant.delegate(user, second.id);
  const { body } = await tenant.exchange(user, first.token);
  const token = String(body.access_token);
  const chained = await tenant.exchange(user, second.token, { subject: token });
  if (chained.status !== 200) throw new Error(JSON.stringify(chained));
  const userinfo = await tenant.send('GET', '/userinfo', address, { token });
  if (JSON.stringify(userinfo.body).includes(user.sub) === false) throw new Error(JSON.stringify(userinfo));
  await tenant.send('GET', '/api/v1/agents', address, { token });
  await tenant.introspect(token);
  await tenant.revokeToken(String(chained.body.access_token), user);
  return token;
}
