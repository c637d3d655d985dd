// Reads the environment once into the settings of the service. One error reports all wrong variables, a line for each.
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { z } from 'zod';
import { tracingOf } from './config-tracing.ts';
import { METRICS_PORTS, RATE_LIMITS, schema } from './config-variables.ts';

export type Role = 'start' | 'api' | 'worker' | 'migrate' | 'command';

export type Fault = readonly [variable: string, fault: string];

/** Settings are missing or wrong. `message` has one line for each, which begins with the name of the variable. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';

  constructor(variable: string, fault: string, ...others: readonly Fault[]) {
    super([[variable, fault], ...others].map((one) => one.join(': ')).join('\n'));
  }
}

/**
 * Reads and validates the whole environment.
 * @param env variables by name; an empty string counts as not set
 * @param options.role of this process
 * @returns the frozen settings; units are seconds, bytes and requests a minute
 * @throws ConfigError naming each wrong variable
 */
export function loadConfig(env: Readonly<Record<string, string | undefined>>, options: { role: Role }) {
  const { read, wrong } = readVariables(env);
  const values = { ...read, METRICS_PORT: read.METRICS_PORT ?? defaultMetricsPort(options.role) };
  const local = env.COUNTERSIGN_LOCAL === '1' || options.role === 'start';
  const [first, ...others]: Fault[] = [...wrong, ...findFaults(values, { role: options.role, local, wrong })];
  if (first !== undefined) throw new ConfigError(...first, ...others);
  const production = values.NODE_ENV === 'production';
  const publicUrl = values.PUBLIC_URL ?? `http://localhost:${values.PORT}`;
  const limits = local ? RATE_LIMITS.local : RATE_LIMITS.deployed;
  return Object.freeze({
    nodeEnv: values.NODE_ENV,
    local,
    dataDir: values.DATA_DIR,
    port: values.PORT,
    host: values.HOST,
    publicUrl,
    defaultTenant: values.DEFAULT_TENANT ?? (local ? 'demo' : undefined),
    tenantUrl: values.TENANT_URL ?? `${publicUrl}/t/{tenant}`,
    errorTypeBase: values.ERROR_TYPE_BASE,
    docsUrl: values.DOCS_URL,
    databaseUrl: values.DATABASE_URL,
    databaseRole:
      values.DATABASE_ROLE === undefined
        ? undefined
        : Object.freeze({ name: values.DATABASE_ROLE, password: values.DATABASE_ROLE_PASSWORD }),
    databasePool: values.DATABASE_POOL,
    temporal: Object.freeze({
      address: values.TEMPORAL_ADDRESS,
      namespace: values.TEMPORAL_NAMESPACE,
      port: values.TEMPORAL_PORT,
      uiPort: values.TEMPORAL_UI_PORT,
      uiUrl: values.TEMPORAL_UI_URL ?? `http://localhost:${values.TEMPORAL_UI_PORT}`,
      // TLS files, API key and metadata are read by @temporalio/envconfig from these variables.
      variables: Object.freeze(
        Object.fromEntries(
          Object.entries(env).flatMap(([name, value]) =>
            name.startsWith('TEMPORAL_') && value ? [[name, value]] : [],
          ),
        ),
      ),
    }),
    masterKeys: values.MASTER_KEY ?? [],
    auditKeys: values.AUDIT_KEY ?? [],
    webhookAllowedNetworks: values.WEBHOOK_ALLOWED_NETWORKS ?? (local ? ['127.0.0.0/8', '::1/128'] : []),
    // True when receivers may have host names that only the system's resolver knows.
    webhookInternalNames: !production || (values.WEBHOOK_ALLOWED_NETWORKS ?? []).length > 0,
    webhookCaFile: values.WEBHOOK_CA_FILE,
    insecureReceivers: local,
    anchors: Object.freeze({ dnsServers: values.ANCHOR_DNS_SERVERS, httpsPort: values.ANCHOR_HTTPS_PORT }),
    challengeLifetime: values.CHALLENGE_LIFETIME,
    accessTokenLifetime: values.ACCESS_TOKEN_LIFETIME,
    refreshTokenLifetime: values.REFRESH_TOKEN_LIFETIME,
    issuerKeyLifetime: values.ISSUER_KEY_LIFETIME,
    retentionDays: values.RETENTION_DAYS,
    auditAddressDays: values.AUDIT_ADDRESS_DAYS,
    rateLimit: Object.freeze({
      tenant: values.RATE_LIMIT_TENANT ?? limits.tenant,
      address: values.RATE_LIMIT_ADDRESS ?? limits.address,
      fingerprintFailures: values.RATE_LIMIT_FINGERPRINT_FAILURES ?? limits.fingerprintFailures,
      clientFailures: values.RATE_LIMIT_CLIENT_FAILURES ?? limits.clientFailures,
      publish: values.RATE_LIMIT_PUBLISH ?? limits.publish,
    }),
    trustedProxies: values.TRUSTED_PROXIES,
    workerBuildId: values.WORKER_BUILD_ID,
    firstAttempts: values.FIRST_ATTEMPTS,
    operatorEnds: values.OPERATOR_ENDS,
    metricsHost: values.METRICS_HOST,
    metricsPort: values.METRICS_PORT,
    metricsPortGiven: read.METRICS_PORT !== undefined,
    backlogLimit: values.BACKLOG_LIMIT,
    subscriptionLimit: values.SUBSCRIPTION_LIMIT,
    tracing: tracingOf(values),
    logLevel: values.LOG_LEVEL,
    logFormat: values.LOG_FORMAT ?? (process.stdout.isTTY === true ? 'pretty' : 'json'),
  });
}

export type Config = ReturnType<typeof loadConfig>;

type Values = z.output<typeof schema> & { METRICS_PORT: number };

/** Reads each variable by itself. A wrong variable gets a fault, and its default as its value. */
export function readVariables(env: Readonly<Record<string, string | undefined>>): {
  read: z.output<typeof schema>;
  wrong: ReadonlyMap<string, string>;
} {
  const present = Object.entries(env).filter(([, value]) => value !== undefined && value !== '');
  const result = schema.safeParse(Object.fromEntries(present));
  if (result.success) return { read: result.data, wrong: new Map() };
  const wrong = new Map<string, string>();
  for (const { path, message } of result.error.issues)
    if (!wrong.has(String(path[0]))) wrong.set(String(path[0]), message);
  return { read: schema.parse(Object.fromEntries(present.filter(([name]) => !wrong.has(name)))), wrong };
}

/** Faults between valid variables: a role lacks a required variable, or two variables contradict each other. */
function* findFaults(
  values: Values,
  { role, local, wrong }: { role: Role; local: boolean; wrong: ReadonlyMap<string, string> },
): Generator<Fault> {
  const production = values.NODE_ENV === 'production';
  const isMissing = (variable: 'MASTER_KEY' | 'AUDIT_KEY' | 'DATABASE_URL') =>
    values[variable] === undefined && !wrong.has(variable);
  if (local && production)
    yield [
      'NODE_ENV',
      'countersign start is for development; run the roles api, worker and migrate in production',
    ];
  if (['api', 'worker', 'command'].includes(role) && isMissing('MASTER_KEY')) {
    if (isMissing('DATABASE_URL')) yield DATABASE_MISSING;
    else yield ['MASTER_KEY', production ? 'is required when NODE_ENV=production' : 'is required'];
  }
  if (role === 'worker' && isMissing('AUDIT_KEY') && !isMissing('DATABASE_URL'))
    yield ['AUDIT_KEY', 'is required: a worker seals the audit log with it'];
  const [auditKey] = values.AUDIT_KEY ?? [];
  if (auditKey !== undefined && values.MASTER_KEY?.some(({ id }) => id === auditKey.id))
    yield ['AUDIT_KEY', 'must begin with a key that is not in MASTER_KEY'];
  if (values.WEBHOOK_CA_FILE !== undefined && ['start', 'api', 'worker'].includes(role))
    yield* faultsOfAuthorities(values.WEBHOOK_CA_FILE);
  if (production && values.ANCHOR_HTTPS_PORT !== 443)
    yield ['ANCHOR_HTTPS_PORT', 'must be 443 when NODE_ENV=production'];
  if (role === 'start' && wrong.size === 0) yield* faultsOfLocalPorts(values);
}

/** How Vault is asked; only a process with a key that Vault has wrapped needs it. */
export const vaultOf = (values: z.output<typeof schema>) =>
  Object.freeze({
    address: values.VAULT_ADDR,
    token: values.VAULT_TOKEN,
    namespace: values.VAULT_NAMESPACE,
    caFile: values.VAULT_CACERT,
  });

export type VaultSettings = ReturnType<typeof vaultOf>;

const DATABASE_MISSING: Fault = [
  'DATABASE_URL',
  'is required (in a clone where nothing runs: npm start first)',
];

/** The error of a role that needs a database and has no DATABASE_URL. */
export function databaseMissing(): ConfigError {
  return new ConfigError(...DATABASE_MISSING);
}

function defaultMetricsPort(role: Role): number {
  return role === 'api' ? METRICS_PORTS.api : METRICS_PORTS.worker;
}

/** The file is read at start, so that an unreadable file is reported before the first delivery. */
function* faultsOfAuthorities(file: string): Generator<Fault> {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    return yield ['WEBHOOK_CA_FILE', `cannot be read: ${(error as Error).message}`];
  }
  try {
    new X509Certificate(text);
  } catch {
    yield ['WEBHOOK_CA_FILE', `${file} does not begin with a certificate in PEM form`];
  }
}

/** Checks that the ports of one machine do not overlap. The API has the port after METRICS_PORT. */
function* faultsOfLocalPorts(values: Values): Generator<Fault> {
  const needed = [
    { variable: 'PORT', first: values.PORT, count: 1 },
    { variable: 'METRICS_PORT', first: values.METRICS_PORT, count: 2 },
    ...(values.TEMPORAL_ADDRESS === undefined
      ? [
          { variable: 'TEMPORAL_PORT', first: values.TEMPORAL_PORT, count: 1 },
          { variable: 'TEMPORAL_UI_PORT', first: values.TEMPORAL_UI_PORT, count: 1 },
        ]
      : []),
  ].filter(({ first }) => first !== 0);
  for (const [index, { variable, first, count }] of needed.entries()) {
    const other = needed
      .slice(0, index)
      .find((before) => first < before.first + before.count && before.first < first + count);
    if (first + count - 1 > 65_535) yield [variable, `leaves no room for ${count} ports, one a process`];
    else if (other !== undefined) {
      const range = other.count === 1 ? '' : ` (which takes ${other.count} ports from ${other.first})`;
      yield [variable, `is needed for ${other.variable} too${range}: choose another port`];
    }
  }
  // These ports appear in printed addresses and in the addresses of tenants, so they must be known before they are
  // opened. METRICS_PORT may be 0: no port.
  for (const variable of ['PORT', 'TEMPORAL_PORT', 'TEMPORAL_UI_PORT'] as const)
    if (values[variable] === 0)
      yield [variable, 'must not be 0 under countersign start: choose a port from 1 to 65535'];
}
