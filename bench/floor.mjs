// The floor: the least that Koa, pg and jose can do for the same answers, with none of the rules, records and limits of the service.
import {
  createHash,
  createHmac,
  createPublicKey,
  randomBytes,
  randomUUID,
  timingSafeEqual,
  verify,
} from 'node:crypto';
import { generateKeyPair, SignJWT } from 'jose';
import Koa from 'koa';
import pg from 'pg';
import { buildPayloadOfResponse } from './payload.mjs';

const [url, port] = process.argv.slice(2);
const pool = new pg.Pool({ connectionString: url, max: 10 });
const issuer = `http://localhost:${port}`;
const { privateKey } = await generateKeyPair('ES256');
const secret = 'floor-secret';
const hmacKey = randomBytes(32);
const hmac = (text) => createHmac('sha256', hmacKey).update(text).digest();

await pool.query('CREATE TABLE floor_clients (id text PRIMARY KEY, hash bytea, scopes text[])');
await pool.query('CREATE TABLE floor_keys (fingerprint text PRIMARY KEY, jwk jsonb)');
await pool.query(
  'CREATE TABLE floor_challenges (id uuid PRIMARY KEY, fingerprint text, body jsonb, expires_at timestamptz, consumed_at timestamptz)',
);
await pool.query('CREATE TABLE floor_refresh_tokens (id uuid PRIMARY KEY, hash bytea)');
await pool.query('INSERT INTO floor_clients VALUES ($1, $2, $3)', ['floor', hmac(secret), ['openid']]);

const issueToken = (sub) =>
  new SignJWT({ scope: 'openid', client_id: sub, sub })
    .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid: 'floor' })
    .setIssuer(issuer)
    .setAudience(issuer)
    .setIssuedAt()
    .setExpirationTime('5m')
    .setJti(randomUUID())
    .sign(privateKey);

const statement = (name, text, values) => pool.query({ name, text, values });

async function requestToken(ctx) {
  const [id, given] = Buffer.from(ctx.get('authorization').slice(6), 'base64').toString().split(':');
  const { rows } = await statement('client', 'SELECT * FROM floor_clients WHERE id = $1', [id]);
  if (!timingSafeEqual(rows[0].hash, hmac(given))) return ctx.throw(401);
  return { access_token: await issueToken(id), token_type: 'Bearer', expires_in: 300 };
}

async function issueChallenge(_ctx, body) {
  const { key_fingerprint } = JSON.parse(body);
  await statement('key', 'SELECT jwk FROM floor_keys WHERE fingerprint = $1', [key_fingerprint]);
  const now = Math.floor(Date.now() / 1_000) * 1_000;
  const challenge = {
    challenge_id: randomUUID(),
    nonce: randomBytes(32).toString('hex'),
    timestamp: new Date(now).toISOString(),
    expires_at: new Date(now + 300_000).toISOString(),
    audience: issuer,
    client_id: 'service-agent',
    scope_hash: createHash('sha256').update('openid').digest('hex'),
    key_fingerprint,
    algorithm: 'ed25519',
  };
  await statement('challenge', 'INSERT INTO floor_challenges VALUES ($1, $2, $3, $4)', [
    challenge.challenge_id,
    key_fingerprint,
    challenge,
    challenge.expires_at,
  ]);
  return challenge;
}

async function verifyChallenge(ctx, body) {
  const { challenge_id, signature } = JSON.parse(body);
  const { rows } = await statement(
    'consume',
    `UPDATE floor_challenges c SET consumed_at = now() FROM floor_keys k
     WHERE c.id = $1 AND c.consumed_at IS NULL AND c.expires_at > now() AND k.fingerprint = c.fingerprint
     RETURNING c.body, k.jwk, k.fingerprint`,
    [challenge_id],
  );
  const [{ body: challenge, jwk, fingerprint }] = rows;
  const payload = buildPayloadOfResponse(challenge);
  const key = cachedKey(fingerprint, jwk);
  const isValid = await new Promise((resolve, reject) => {
    verify(null, payload, key, Buffer.from(signature, 'base64'), (error, valid) =>
      error ? reject(error) : resolve(valid),
    );
  });
  if (!isValid) return ctx.throw(401);
  const refreshToken = randomBytes(32).toString('base64url');
  await statement('refresh', 'INSERT INTO floor_refresh_tokens VALUES ($1, $2)', [
    randomUUID(),
    hmac(refreshToken),
  ]);
  return { access_token: await issueToken(fingerprint), refresh_token: refreshToken, token_type: 'Bearer' };
}

const keys = new Map();
function cachedKey(fingerprint, jwk) {
  const key = keys.get(fingerprint) ?? createPublicKey({ key: jwk, format: 'jwk' });
  keys.set(fingerprint, key);
  return key;
}

const routes = {
  '/oauth/token': requestToken,
  '/auth/agent/challenge': issueChallenge,
  '/auth/agent/verify': verifyChallenge,
};
const app = new Koa();
app.use(async (ctx) => {
  const chunks = [];
  for await (const chunk of ctx.req) chunks.push(chunk);
  ctx.body = await routes[ctx.path](ctx, Buffer.concat(chunks).toString());
});
process.on('message', async ({ publicKeys }) => {
  for (const { fingerprint, jwk } of publicKeys)
    await pool.query('INSERT INTO floor_keys VALUES ($1, $2)', [fingerprint, jwk]);
  app.listen(Number(port), '127.0.0.1', () => process.send({ credentials: ['floor', secret] }));
});
process.on('disconnect', () => process.exit());
