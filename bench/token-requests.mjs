// The token requests of a load's applications: with a secret, or with a client assertion and a proof of the same key.
import { randomUUID } from 'node:crypto';
import { openSigner, publicJwkOf } from './keys.mjs';

const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
const GRANT = { grant_type: 'client_credentials', scope: 'openid' };
const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

/**
 * @param client of `createClients`
 * @returns a function from the last nonce to its next token request: `path`, `headers`, `body`
 */
export function openTokenRequest({ id, authorization, issuer, privateKey }) {
  const path = `${new URL(issuer).pathname.replace(/\/$/, '')}/oauth/token`;
  if (privateKey === undefined) {
    const request = { path, headers: { authorization, ...FORM }, body: formOf(GRANT) };
    return () => request;
  }
  const assertion = openJws(privateKey, { alg: 'ES256', kid: 'bench', typ: 'client-authentication+jwt' });
  const proof = openJws(privateKey, { alg: 'ES256', typ: 'dpop+jwt', jwk: publicJwkOf(privateKey) });
  return (nonce) => {
    const iat = Math.floor(Date.now() / 1_000);
    const client_assertion = assertion({ iss: id, sub: id, aud: issuer, iat, exp: iat + 60 });
    const dpop = proof({ htm: 'POST', htu: `${issuer}/oauth/token`, iat, nonce });
    const form = { ...GRANT, client_id: id, client_assertion_type: ASSERTION_TYPE, client_assertion };
    return { path, headers: { dpop, ...FORM }, body: formOf(form) };
  };
}

const formOf = (form) => new URLSearchParams(form).toString();

/** @returns a function from claims to a JWS with a `jti`, which costs the load less than jose's */
function openJws(privateKey, header) {
  const encode = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const [head, sign] = [encode(header), openSigner('es256', privateKey)];
  return (claims) => {
    const signed = `${head}.${encode({ jti: randomUUID(), ...claims })}`;
    return `${signed}.${Buffer.from(sign(Buffer.from(signed)), 'base64').toString('base64url')}`;
  };
}
