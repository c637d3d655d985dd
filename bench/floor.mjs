// The floor: the least that Koa, pg and jose can do for the same answers, with none of the rules, records and limits of
// the service.
import { createHash, createHmac, randomBytes, randomUUID, timingSafeEqual } from 'node:crypto';
import { EmbeddedJWK, generateKeyPair, importSPKI, jwtVerify, SignJWT } from 'jose';
import Koa from 'koa';
import { newPool } from '#dist/src/platform/database/client.js';
import { buildPayloadOfResponse, openVerifier } from './keys.mjs';

const [url, port, algorithm] = process.argv.slice(2);
const pool = newPool({ connectionString: url, max: 10 });
const issuer = `http://localhost:${port}`;
const { privateKey, publicKey } = await generateKeyPair('ES256');
const secret = 'floor-secret';
const hmacKey = randomBytes(32);
const hmac = (text) => createHmac('sha256', hmacKey).update(text).digest();

await pool.query(`
  CREATE TABLE floor_clients (id text PRIMARY KEY, hash bytea, scopes text[]);
  CREATE TABLE floor_keys (fingerprint text PRIMARY KEY, public_key text);
  CREATE TABLE floor_challenges (id uuid PRIMARY KEY, fingerprint text, body jsonb, expires_at timestamptz, consumed_at timestamptz);
  CREATE TABLE floor_used (jti text PRIMARY KEY);
  CREATE TABLE floor_exchanges (actor text, subject text);
  CREATE TABLE floor_refresh_tokens (hash bytea PRIMARY KEY, fingerprint text, used_at timestamptz)`);
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

async function authenticateClient(ctx) {
  const [id, given] = Buffer.from(ctx.get('authorization').slice(6), 'base64').toString().split(':');
  const { rows } = await statement('client', 'SELECT * FROM floor_clients WHERE id = $1', [id]);
  return timingSafeEqual(rows[0].hash, hmac(given)) ? id : ctx.throw(401);
}

/** The application's key, of its assertion and of its proof. */
let applicationKey;

/** Each is good once. */
async function proveClient(ctx, form) {
  const { payload } = await jwtVerify(form.get('client_assertion'), applicationKey, { audience: issuer });
  const { payload: proof } = await jwtVerify(ctx.get('dpop'), EmbeddedJWK, { typ: 'dpop+jwt' });
  await statement('used', 'INSERT INTO floor_used VALUES ($1), ($2)', [payload.jti, proof.jti]);
  return payload.sub;
}

async function requestToken(ctx, body) {
  const form = new URLSearchParams(body);
  if (form.get('grant_type') === 'refresh_token') return refresh(ctx, form.get('refresh_token'));
  const id = form.has('client_assertion') ? await proveClient(ctx, form) : await authenticateClient(ctx);
  if (form.has('actor_token')) return exchange(form);
  return { access_token: await issueToken(id), token_type: 'Bearer', expires_in: 300 };
}

/** One statement proves the delegation and records the token. */
async function exchange(form) {
  const verify = async (name) =>
    (await jwtVerify(form.get(name), publicKey, { issuer, typ: 'at+jwt' })).payload;
  const [subject, actor] = [await verify('subject_token'), await verify('actor_token')];
  await statement('exchange', `INSERT INTO floor_exchanges SELECT $1, id FROM floor_clients WHERE id = $2`, [
    actor.sub,
    subject.sub,
  ]);
  return { access_token: await issueToken(subject.sub), token_type: 'Bearer', expires_in: 300 };
}

async function refresh(ctx, given) {
  const next = randomBytes(32).toString('base64url');
  const { rows } = await statement(
    'rotate',
    `WITH spent AS (
       UPDATE floor_refresh_tokens SET used_at = now() WHERE hash = $1 AND used_at IS NULL RETURNING fingerprint
     ) INSERT INTO floor_refresh_tokens SELECT $2, fingerprint FROM spent RETURNING fingerprint`,
    [hmac(given), hmac(next)],
  );
  if (rows.length === 0) return ctx.throw(400);
  return { access_token: await issueToken(rows[0].fingerprint), refresh_token: next, token_type: 'Bearer' };
}

async function introspect(ctx, body) {
  await authenticateClient(ctx);
  const { payload } = await jwtVerify(new URLSearchParams(body).get('token'), publicKey, {
    issuer,
    typ: 'at+jwt',
  });
  return { active: true, ...payload };
}

async function issueChallenge(_ctx, body) {
  const { key_fingerprint } = JSON.parse(body);
  await statement('key', 'SELECT public_key FROM floor_keys WHERE fingerprint = $1', [key_fingerprint]);
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
    algorithm,
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
     RETURNING c.body, k.public_key, k.fingerprint`,
    [challenge_id],
  );
  const [{ body: challenge, public_key, fingerprint }] = rows;
  const verify = verifiers.get(fingerprint) ?? openVerifier(algorithm, public_key);
  verifiers.set(fingerprint, verify);
  if (!(await verify(buildPayloadOfResponse(challenge), signature))) return ctx.throw(401);
  const refreshToken = randomBytes(32).toString('base64url');
  await statement('issue', 'INSERT INTO floor_refresh_tokens VALUES ($1, $2)', [
    hmac(refreshToken),
    fingerprint,
  ]);
  return { access_token: await issueToken(fingerprint), refresh_token: refreshToken, token_type: 'Bearer' };
}

/** By fingerprint. */
const verifiers = new Map();

const routes = {
  '/oauth/token': requestToken,
  '/oauth/introspect': introspect,
  '/auth/agent/challenge': issueChallenge,
  '/auth/agent/verify': verifyChallenge,
};
const app = new Koa();
app.use(async (ctx) => {
  const chunks = [];
  for await (const chunk of ctx.req) chunks.push(chunk);
  ctx.body = await routes[ctx.path](ctx, Buffer.concat(chunks).toString());
});
process.on('message', async (/** @type {any} */ { keys, clientKey }) => {
  if (clientKey !== undefined) applicationKey = await importSPKI(clientKey, 'ES256');
  for (const { fingerprint, publicKey } of keys)
    await pool.query('INSERT INTO floor_keys VALUES ($1, $2)', [fingerprint, publicKey]);
  app.listen(Number(port), '127.0.0.1', () => process.send({ credentials: ['floor', secret] }));
});
process.on('disconnect', () => process.exit());
