// The table of all parsers of input from outside: each has a fuzz target, and what other tests it has is stated.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { TARGETS } from './targets.ts';

/** What tests a parser has beside its target: fast-check properties, examples, or only those of what calls it. */
const PARSERS: Readonly<Record<string, 'properties' | 'examples' | 'through its callers'>> = {
  'audit/verification.ts#parseAnchor': 'examples',
  'authentication/challenges/signed-request.ts#readSignedRequest': 'through its callers',
  'authentication/console/session.ts#readCookie': 'examples',
  'authentication/users/subject.ts#isIssuer': 'properties',
  'authentication/dpop/dpop-proof.ts#parseProof': 'examples',
  'authentication/dpop/proof-key.ts#readProofKey': 'examples',
  'authentication/token-exchange/exchange-request.ts#readExchangeRequest': 'examples',
  'authentication/tokens/access-token.ts#readAccessTokenClaims': 'through its callers',
  'authentication/tokens/basic-credentials.ts#parseBasicCredentials': 'properties',
  'authentication/tokens/bearer.routes.ts#authorize': 'examples',
  'authentication/tokens/client-assertion.ts#parseAssertion': 'examples',
  'authentication/trusted-issuers/jwk-set.ts#judgeJwk': 'examples',
  'authentication/trusted-issuers/jwk-set.ts#readJwkSet': 'examples',
  'authentication/trusted-issuers/jwks-lifetime.ts#freshnessOf': 'examples',
  'authentication/trusted-issuers/subject-token.ts#readSubjectClaims': 'through its callers',
  'authentication/workload-issuers/claim-rules.ts#readClaim': 'examples',
  'authentication/workload-issuers/workload-assertion.ts#readAssertion': 'examples',
  'webhooks/intake/event.schemas.ts#readPublication': 'properties',
  'webhooks/intake/feed-cursor.node.ts#createFeedCursors': 'properties',
  'webhooks/intake/feed-cursor.ts#decodePosition': 'properties',
  'events/filter.ts#isFilter': 'properties',
  'events/filter.ts#normalizeFilter': 'properties',
  'identity/anchors/anchor.ts#normalizeDomain': 'properties',
  'identity/applications/application-jwks.ts#readApplicationJwks': 'examples',
  'identity/keys/key-directory.ts#readDirectorySignature': 'examples',
  'identity/keys/key-input.ts#readPublicKey': 'through its callers',
  'packages/receiver/src/suites.ts#parseSignature': 'properties',
  'packages/receiver/src/verify-delivery.ts#readEnvelope': 'through its callers',
  'packages/resource-server/src/credentials.ts#readCredentials': 'through its callers',
  'packages/resource-server/src/event-stream.ts#createParser': 'properties',
  'packages/resource-server/src/issuer-keys.ts#readHeader': 'through its callers',
  'packages/resource-server/src/issuer-keys.ts#readClaims': 'through its callers',
  'packages/resource-server/src/proof-target.ts#normalizeTarget': 'properties',
  'platform/act.ts#readAct': 'properties',
  'platform/crypto/base64.ts#decodeBase64': 'properties',
  'platform/crypto/curve.ts#decodePoint': 'through its callers',
  'platform/crypto/jwk.ts#decodeMember': 'through its callers',
  'platform/crypto/jwk.ts#readPublicJwk': 'through its callers',
  'platform/crypto/jws.node.ts#importJwk': 'through its callers',
  'platform/crypto/jws.ts#parseCompactJws': 'properties',
  'platform/crypto/message-signature.ts#readParameters': 'examples',
  'platform/crypto/message-signature.ts#readSignatures': 'examples',
  'platform/crypto/public-key-form.ts#readKeyMaterial': 'through its callers',
  'platform/crypto/public-key.ts#parsePublicKey': 'properties',
  'platform/crypto/signature.ts#decodeSignature': 'properties',
  'platform/crypto/spki.ts#parseSpki': 'through its callers',
  'platform/crypto/structured-fields.ts#readDictionary': 'examples',
  'platform/database/page.ts#createCursors': 'properties',
  'platform/egress/address-rules.ts#canonicalAddress': 'properties',
  'platform/egress/address-rules.ts#judgeAddress': 'properties',
  'platform/egress/header-rules.ts#checkCustomHeaders': 'examples',
  'platform/egress/informational-answers.ts#createInformationalReader': 'properties',
  'platform/egress/url-rules.ts#checkReceiverUrl': 'examples',
  'platform/egress/url-rules.ts#normalizeReceiverUrl': 'through its callers',
  'platform/http/client-address.ts#createAddressReader': 'examples',
  'platform/http/etag.ts#matchesEtag': 'through its callers',
  'platform/http/form.ts#parseForm': 'properties',
  'platform/http/idempotency.ts#keepAnswers': 'through its callers',
  'platform/http/problem-handler.ts#chooseProblemType': 'examples',
  'platform/http/parser-errors.ts#answerParserErrors': 'through its callers',
  'platform/http/request-id.ts#requestIdOf': 'through its callers',
  'platform/http/strict-json.ts#parseStrictJson': 'properties',
  'platform/http/tenant-locator.ts#createTenantLocator': 'examples',
  'platform/scope-hash.ts#parseScope': 'properties',
  'platform/temporal/names.ts#parseDeliveryWorkflowId': 'examples',
  'platform/timestamp.ts#parseTimestamp': 'properties',
  'platform/tracing/tracer.ts#createTracer': 'properties',
  'webhooks/deliveries/retry-after.ts#parseHttpDate': 'properties',
  'webhooks/deliveries/retry-after.ts#parseRetryAfter': 'properties',
  'webhooks/endpoints/host-hold.ts#readHost': 'examples',
  'webhooks/subscriptions/subscription.ts#readFilters': 'examples',
  'webhooks/subscriptions/subscription.ts#readHeaders': 'examples',
  'webhooks/subscriptions/subscription.ts#readReceiverUrl': 'examples',
};

/** Functions whose names say that they parse, and that get nothing from outside. */
const OTHERS: Readonly<Record<string, string>> = {
  'authentication/workload-issuers/workload-issuer.schemas.ts#readRules':
    'renames members that a schema has checked',
  'app/local/private-file.ts#readPrivateFile': 'a file of the operator',
  'app/terminal/runtime.ts#readSecret': 'the command line of its user',
  'app/terminal/runtime.ts#readTarget': 'the command line of its user',
  'console/session.ts#readError': 'an answer of the service, in the browser',
  'platform/command-input.ts#parseInput': 'the command line of the operator',
  'platform/command-times.ts#readDuration': 'the command line of the operator',
  'platform/config.ts#readVariables': 'settings of the operator',
  'platform/config-secrets.ts#readSecretFiles': 'settings of the operator',
  'platform/egress/address-rules.ts#parseNetworks': 'a setting',
  'platform/errors/field-errors.ts#parseFields':
    'gives a value to its schema; test/platform/http/guard.test.ts',
  'platform/http/field-names.ts#readFields': 'renames members that a schema has checked',
  'platform/http/request-body.ts#readBytes': 'reads bytes; test/platform/http/server.test.ts',
  'platform/http/request-target.ts#readTarget':
    'what Node and Koa have parsed; test/platform/http/server.test.ts',
  'platform/wrapped-key.ts#parseServiceKey': 'a setting',
  'platform/wrapped-key.ts#parseWrappedKey': 'a setting',
  'platform/json-values.ts#parseJson': 'is JSON.parse',
  'platform/scope-hash.ts#canonicalizeScopes': 'sorts what parseScope has read',
  'platform/temporal/namespace.ts#readNamespace': 'an answer of Temporal',
  'platform/temporal/worker-version.ts#readCurrentBuild': 'an answer of Temporal',
  'packages/receiver/src/verify-delivery.ts#readHeader':
    'finds a header by its name, and changes nothing of it',
  'webhooks/intake/event-news.ts#readNews': 'what another process of the service says',
  'webhooks/subscriptions/retry-schedule.ts#readRetryPolicy': 'a stored value that a schema has checked',
  'packages/agent/src/bytes.ts#decodeBase64': "the agent's own key",
  'packages/agent/src/key-rotation.ts#readSelf': 'an answer of the service',
  'packages/agent/src/node.ts#readKeyFile': 'a file of the agent',
  'packages/receiver/src/canonical-string.ts#canonicalHead': 'writes',
  'packages/receiver/src/canonical-string.ts#canonicalString': 'writes',
};

/** Files of these roles read rows and answers, and leave texts from outside to the functions above. */
const INSIDE = /\.(store|client|service|model|metrics|commands|check)\.ts$/;
const PARSER = /^export (?:async )?function ((?:parse|read|decode|normalize|canonical)\w*)/gm;

/** Files of the service are named from `src`. */
const pathOf = (file: string) => (file.startsWith('packages/') ? file : join('src', file));
const list = (folder: string) => readdirSync(folder, { recursive: true, encoding: 'utf8' });
const sources = [
  ...list('src'),
  ...readdirSync('packages')
    .filter((name) => existsSync(`packages/${name}/package.json`))
    .flatMap((name) => list(`packages/${name}/src`).map((file) => `packages/${name}/src/${file}`)),
];
const named = sources
  .filter((file) => file.endsWith('.ts') && !INSIDE.test(file))
  .flatMap((file) =>
    [...readFileSync(pathOf(file), 'utf8').matchAll(PARSER)].map(([, name]) => `${file}#${name}`),
  );

const tests = readdirSync('test', { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.test.ts') && !/^(fuzz\/|regular-expressions)/.test(file))
  .map((file) => readFileSync(join('test', file), 'utf8'));

function testsOf(parser: string) {
  const name = new RegExp(`\\b${parser.split('#')[1]}\\b`);
  const own = tests.filter((text) => name.test(text));
  if (own.some((text) => text.includes("from 'fast-check'"))) return 'properties';
  return own.length > 0 ? 'examples' : 'through its callers';
}

describe('the table of parsers', () => {
  it('has every function that is named like one', () => {
    const known = new Set([...Object.keys(PARSERS), ...Object.keys(OTHERS)]);
    expect(
      named.filter((parser) => !known.has(parser)),
      'parsers without a target',
    ).toEqual([]);
    expect(
      Object.keys(OTHERS).filter((parser) => !named.includes(parser)),
      'names of nothing',
    ).toEqual([]);
  });

  it('is that of the targets', () => {
    expect(TARGETS.flatMap(({ parsers }) => parsers).sort()).toEqual(Object.keys(PARSERS).sort());
  });

  it.each(Object.entries(PARSERS))('%s has: %s', (parser, kind) => {
    const [file = '', name = ''] = parser.split('#');
    expect(readFileSync(pathOf(file), 'utf8')).toMatch(
      new RegExp(`export (async )?(function|const) ${name}\\b`),
    );
    expect(testsOf(parser)).toBe(kind);
  });
});
