// Every setting of the service: one schema, and the only reader of the environment. A wrong value is one error that names its variable.
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { z } from 'zod';
import { TRACING_VARIABLES, tracingOf } from './config-tracing.ts';
import {
  buildId,
  databaseUrl,
  dnsServers,
  grpcAddress,
  masterKeys,
  networks,
  oneOf,
  origin,
  port,
  processes,
  slug,
  tenantUrl,
  webUrl,
  wholeNumber,
} from './config-values.ts';

/** What a process does; some settings are required only for some roles. */
export type Role = 'start' | 'api' | 'worker' | 'migrate' | 'command';

/** A setting is missing or wrong; `message` is one line for the operator and begins with the variable's name. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly variable: string;

  constructor(variable: string, message: string) {
    super(`${variable}: ${message}`);
    this.variable = variable;
  }
}

/** Requests a minute; 0 turns a limit off. */
const limit = wholeNumber(0, 1_000_000_000);

const schema = z.object({
  NODE_ENV: oneOf(['production', 'development', 'test']).default('development'),
  DATA_DIR: z
    .string()
    .default('.data')
    .transform((folder) => resolve(folder)),
  PORT: port.default(8080),
  HOST: z.string().default('127.0.0.1'),
  PUBLIC_URL: origin.optional(),
  DEFAULT_TENANT: slug.optional(),
  TENANT_URL: tenantUrl.optional(),
  ERROR_TYPE_BASE: webUrl.default('https://errors.countersign.dev'),
  DATABASE_URL: databaseUrl.optional(),
  DATABASE_POOL: wholeNumber(2, 500).default(10),
  TEMPORAL_ADDRESS: grpcAddress.optional(),
  TEMPORAL_NAMESPACE: z.string().min(1).default('countersign'),
  TEMPORAL_PORT: port.default(7233),
  TEMPORAL_UI_PORT: port.default(8233),
  TEMPORAL_UI_URL: webUrl.optional(),
  MASTER_KEY: masterKeys.optional(),
  WEBHOOK_ALLOWED_NETWORKS: networks.optional(),
  WEBHOOK_CA_FILE: z.string().optional(),
  ANCHOR_DNS_SERVERS: dnsServers.default([]),
  ANCHOR_HTTPS_PORT: wholeNumber(1, 65_535).default(443),
  CHALLENGE_LIFETIME: wholeNumber(10, 3600).default(300),
  ACCESS_TOKEN_LIFETIME: wholeNumber(10, 86_400).default(300),
  REFRESH_TOKEN_LIFETIME: wholeNumber(60, 31_536_000).default(2_592_000),
  ISSUER_KEY_LIFETIME: wholeNumber(3_600, 63_072_000).default(7_776_000),
  RATE_LIMIT_TENANT: limit.optional(),
  RATE_LIMIT_ADDRESS: limit.optional(),
  RATE_LIMIT_FINGERPRINT_FAILURES: limit.optional(),
  RATE_LIMIT_CLIENT_FAILURES: limit.optional(),
  RATE_LIMIT_PUBLISH: limit.optional(),
  TRUSTED_PROXIES: networks.default([]),
  API_PROCESSES: processes.default(1),
  WORKER_PROCESSES: processes.default(1),
  WORKER_BUILD_ID: buildId.optional(),
  DELIVERY_WORKFLOWS: oneOf(['all', 'retries']).default('all'),
  METRICS_HOST: z.string().default('127.0.0.1'),
  METRICS_PORT: port.optional(),
  BACKLOG_LIMIT: wholeNumber(1, 1_000_000_000).default(1_000_000),
  ...TRACING_VARIABLES,
  LOG_LEVEL: oneOf(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
  LOG_FORMAT: oneOf(['pretty', 'json']).optional(),
});

/** So that a worker and an api of one machine do not meet; under `countersign start` the first is the workers', and the apis' follow. */
const METRICS_PORTS = { api: 9_465, worker: 9_464 } as const;

/** Requests a minute: what a deployment gets unless it says otherwise, and what a machine for development gets (load tests from one address). */
const RATE_LIMITS = {
  deployed: { tenant: 60_000, address: 1_200, fingerprintFailures: 10, clientFailures: 10, publish: 60_000 },
  local: {
    tenant: 10_000_000,
    address: 10_000_000,
    fingerprintFailures: 1_000,
    clientFailures: 1_000,
    publish: 10_000_000,
  },
} as const;

/**
 * Reads and validates the whole environment.
 * @param env variables by name; an empty string counts as not set
 * @param options.role what this process is going to do
 * @returns the frozen settings, in seconds, bytes and numbers a minute where they have a unit
 * @throws ConfigError naming the first wrong variable
 */
export function loadConfig(env: Readonly<Record<string, string | undefined>>, options: { role: Role }) {
  const present = Object.fromEntries(
    Object.entries(env).filter(([, value]) => value !== undefined && value !== ''),
  );
  const result = schema.safeParse(present);
  if (!result.success) {
    const issue = result.error.issues[0];
    throw new ConfigError(String(issue?.path[0] ?? 'environment'), issue?.message ?? 'is wrong');
  }
  const values = {
    ...result.data,
    METRICS_PORT: result.data.METRICS_PORT ?? defaultMetricsPort(options.role),
  };
  const production = values.NODE_ENV === 'production';
  const local = env.COUNTERSIGN_LOCAL === '1' || options.role === 'start';
  if (local && production)
    throw new ConfigError(
      'NODE_ENV',
      'countersign start is for development; run the roles api, worker and migrate in production',
    );
  if (values.MASTER_KEY === undefined && needsMasterKey(options.role) && values.DATABASE_URL === undefined)
    throw databaseMissing();
  if (values.MASTER_KEY === undefined && needsMasterKey(options.role))
    throw new ConfigError('MASTER_KEY', production ? 'is required when NODE_ENV=production' : 'is required');
  if (values.WEBHOOK_CA_FILE !== undefined && ['start', 'api', 'worker'].includes(options.role))
    checkAuthorities(values.WEBHOOK_CA_FILE);
  if (production && values.ANCHOR_HTTPS_PORT !== 443)
    throw new ConfigError('ANCHOR_HTTPS_PORT', 'must be 443 when NODE_ENV=production');
  if (options.role === 'start') checkLocalPorts(values);
  if (options.role === 'start') refuseAnyPort(values);
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
    databaseUrl: values.DATABASE_URL,
    databasePool: values.DATABASE_POOL,
    temporal: Object.freeze({
      address: values.TEMPORAL_ADDRESS,
      namespace: values.TEMPORAL_NAMESPACE,
      port: values.TEMPORAL_PORT,
      uiPort: values.TEMPORAL_UI_PORT,
      uiUrl: values.TEMPORAL_UI_URL ?? `http://localhost:${values.TEMPORAL_UI_PORT}`,
      // TLS files, API key and metadata, as @temporalio/envconfig reads them.
      variables: Object.freeze(
        Object.fromEntries(
          Object.entries(env).flatMap(([name, value]) =>
            name.startsWith('TEMPORAL_') && value ? [[name, value]] : [],
          ),
        ),
      ),
    }),
    masterKeys: values.MASTER_KEY ?? [],
    webhookAllowedNetworks: values.WEBHOOK_ALLOWED_NETWORKS ?? (local ? ['127.0.0.0/8', '::1/128'] : []),
    // Whether receivers may be named as only this system knows them.
    webhookInternalNames: !production || (values.WEBHOOK_ALLOWED_NETWORKS ?? []).length > 0,
    webhookCaFile: values.WEBHOOK_CA_FILE,
    insecureReceivers: local,
    anchors: Object.freeze({ dnsServers: values.ANCHOR_DNS_SERVERS, httpsPort: values.ANCHOR_HTTPS_PORT }),
    challengeLifetime: values.CHALLENGE_LIFETIME,
    accessTokenLifetime: values.ACCESS_TOKEN_LIFETIME,
    refreshTokenLifetime: values.REFRESH_TOKEN_LIFETIME,
    issuerKeyLifetime: values.ISSUER_KEY_LIFETIME,
    rateLimit: Object.freeze({
      tenant: values.RATE_LIMIT_TENANT ?? limits.tenant,
      address: values.RATE_LIMIT_ADDRESS ?? limits.address,
      fingerprintFailures: values.RATE_LIMIT_FINGERPRINT_FAILURES ?? limits.fingerprintFailures,
      clientFailures: values.RATE_LIMIT_CLIENT_FAILURES ?? limits.clientFailures,
      publish: values.RATE_LIMIT_PUBLISH ?? limits.publish,
    }),
    trustedProxies: values.TRUSTED_PROXIES,
    apiProcesses: values.API_PROCESSES,
    workerProcesses: values.WORKER_PROCESSES,
    workerBuildId: values.WORKER_BUILD_ID,
    deliveryWorkflows: values.DELIVERY_WORKFLOWS,
    metricsHost: values.METRICS_HOST,
    metricsPort: values.METRICS_PORT,
    metricsPortGiven: result.data.METRICS_PORT !== undefined,
    backlogLimit: values.BACKLOG_LIMIT,
    tracing: tracingOf(values),
    logLevel: values.LOG_LEVEL,
    logFormat: values.LOG_FORMAT ?? (process.stdout.isTTY === true ? 'pretty' : 'json'),
  });
}

export type Config = ReturnType<typeof loadConfig>;

/** Names of all variables, for the deployment files' test and the documentation. */
export const CONFIG_VARIABLES: readonly string[] = Object.keys(schema.shape);

type Values = z.output<typeof schema> & { METRICS_PORT: number };

function defaultMetricsPort(role: Role): number {
  return role === 'api' ? METRICS_PORTS.api : METRICS_PORTS.worker;
}

/** Addresses that are printed, and stored with a tenant, must be known before anything listens. METRICS_PORT 0 means none. */
function refuseAnyPort(values: Values): void {
  for (const variable of ['PORT', 'TEMPORAL_PORT', 'TEMPORAL_UI_PORT'] as const) {
    if (values[variable] === 0)
      throw new ConfigError(variable, 'must not be 0 under countersign start: choose a port from 1 to 65535');
  }
}

/** What an operator is told where a database is needed and none is named. */
export function databaseMissing(): ConfigError {
  return new ConfigError('DATABASE_URL', 'is required (in a clone where nothing runs: npm start first)');
}

function needsMasterKey(role: Role): boolean {
  return role === 'api' || role === 'worker' || role === 'command';
}

/** Read where it is used: a file that cannot be read must not wait for the first delivery. */
function checkAuthorities(file: string): void {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new ConfigError('WEBHOOK_CA_FILE', `cannot be read: ${(error as Error).message}`);
  }
  try {
    new X509Certificate(text);
  } catch {
    throw new ConfigError('WEBHOOK_CA_FILE', `${file} does not begin with a certificate in PEM form`);
  }
}

/** Ports that one machine needs at the same time: several with a number of processes each. */
function checkLocalPorts(values: Values): void {
  const needed = [
    { variable: 'PORT', first: values.PORT, count: 1 },
    {
      variable: 'METRICS_PORT',
      first: values.METRICS_PORT,
      count: values.WORKER_PROCESSES + values.API_PROCESSES,
    },
    ...(values.TEMPORAL_ADDRESS === undefined
      ? [
          { variable: 'TEMPORAL_PORT', first: values.TEMPORAL_PORT, count: 1 },
          { variable: 'TEMPORAL_UI_PORT', first: values.TEMPORAL_UI_PORT, count: 1 },
        ]
      : []),
  ].filter(({ first }) => first !== 0);
  for (const [index, { variable, first, count }] of needed.entries()) {
    if (first + count - 1 > 65_535)
      throw new ConfigError(variable, `leaves no room for ${count} ports, one a process`);
    const other = needed
      .slice(0, index)
      .find((before) => first < before.first + before.count && before.first < first + count);
    if (other !== undefined) {
      const range = other.count === 1 ? '' : ` (which takes ${other.count} ports from ${other.first})`;
      throw new ConfigError(variable, `is needed for ${other.variable} too${range}: choose another port`);
    }
  }
}
