// Every setting of the service: one schema, and the only reader of the environment. A wrong value is one error that names its variable.
import { createHash } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import ipaddr from 'ipaddr.js';
import { z } from 'zod';

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

/** A key that seals secrets at rest; `id` stands in each ciphertext. */
export type MasterKey = { readonly id: string; readonly key: Uint8Array };

const list = z.string().transform((text) => text.split(/[\s,]+/).filter((part) => part !== ''));
const port = z.coerce.number().int().min(0).max(65535);
const seconds = (least: number, most: number) => z.coerce.number().int().min(least).max(most);
const limit = z.coerce.number().int().min(0);
const processes = z
  .string()
  .regex(/^(auto|[1-9]\d?)$/, 'must be a number from 1 to 99, or auto')
  .transform((text) => (text === 'auto' ? availableParallelism() : Number(text)));

const origin = z.string().transform((text, issue) => {
  if (!URL.canParse(text)) return reject(issue, 'must be an absolute http or https URL');
  const url = new URL(text);
  if (!/^https?:$/.test(url.protocol)) return reject(issue, 'must be an http or https URL');
  if (url.pathname !== '/' || url.search || url.hash || url.username) {
    return reject(issue, 'must be an origin: no path, query, fragment or credentials');
  }
  return url.origin;
});

const networks = list.superRefine((blocks, issue) => {
  for (const block of blocks) {
    if (!ipaddr.isValidCIDR(block))
      issue.addIssue({ code: 'custom', message: `"${block}" is not a CIDR block such as 10.0.0.0/8` });
  }
});

const masterKeys = list.transform((encoded, issue): MasterKey[] =>
  encoded.map((text) => {
    const key = Buffer.from(text, 'base64');
    if (key.length !== 32) reject(issue, 'each key must be 32 bytes in base64');
    return { id: createHash('sha256').update(key).digest('hex').slice(0, 8), key };
  }),
);

const tenantUrl = z.string().transform((text, issue) => {
  const sample = text.replaceAll('{tenant}', 'a');
  if (!text.includes('{tenant}') || !URL.canParse(sample) || !/^https?:\/\//.test(sample)) {
    return reject(issue, 'must be an http or https URL that contains {tenant}');
  }
  return text.replace(/\/+$/, '');
});

const schema = z.object({
  NODE_ENV: z.string().default('development'),
  DATA_DIR: z
    .string()
    .default('.data')
    .transform((folder) => resolve(folder)),
  PORT: port.default(8080),
  HOST: z.string().default('127.0.0.1'),
  PUBLIC_URL: origin.optional(),
  DEFAULT_TENANT: z
    .string()
    .regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, 'must be a tenant slug (a DNS label)')
    .optional(),
  TENANT_URL: tenantUrl.optional(),
  ERROR_TYPE_BASE: z
    .url()
    .default('https://errors.countersign.dev')
    .transform((text) => text.replace(/\/+$/, '')),
  DATABASE_URL: z
    .string()
    .regex(/^postgres(ql)?:\/\//, 'must begin with postgres://')
    .optional(),
  DATABASE_POOL: z.coerce.number().int().min(2).max(500).default(10),
  TEMPORAL_ADDRESS: z.string().optional(),
  TEMPORAL_NAMESPACE: z.string().min(1).default('countersign'),
  TEMPORAL_PORT: port.default(7233),
  TEMPORAL_UI_PORT: port.default(8233),
  TEMPORAL_UI_URL: z
    .url()
    .transform((text) => text.replace(/\/+$/, ''))
    .optional(),
  MASTER_KEY: masterKeys.optional(),
  WEBHOOK_ALLOWED_NETWORKS: networks.optional(),
  WEBHOOK_CA_FILE: z.string().optional(),
  CHALLENGE_LIFETIME: seconds(10, 3600).default(300),
  ACCESS_TOKEN_LIFETIME: seconds(10, 86_400).default(300),
  REFRESH_TOKEN_LIFETIME: seconds(60, 31_536_000).default(2_592_000),
  RATE_LIMIT_TENANT: limit.optional(),
  RATE_LIMIT_ADDRESS: limit.optional(),
  RATE_LIMIT_FINGERPRINT_FAILURES: limit.optional(),
  RATE_LIMIT_CLIENT_FAILURES: limit.optional(),
  RATE_LIMIT_PUBLISH: limit.optional(),
  TRUSTED_PROXIES: networks.default([]),
  API_PROCESSES: processes.default(1),
  WORKER_PROCESSES: processes.default(1),
  DELIVERY_WORKFLOWS: z.enum(['all', 'retries']).default('all'),
  METRICS_PORT: port.default(9464),
  BACKLOG_LIMIT: z.coerce.number().int().min(1).default(1_000_000),
  LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
  LOG_FORMAT: z.enum(['pretty', 'json']).optional(),
});

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
  const values = result.data;
  const production = values.NODE_ENV === 'production';
  const local = env.COUNTERSIGN_LOCAL === '1' || options.role === 'start';
  if (local && production)
    throw new ConfigError(
      'NODE_ENV',
      'countersign start is for development; run the roles api, worker and migrate in production',
    );
  if (production && values.MASTER_KEY === undefined && needsMasterKey(options.role))
    throw new ConfigError('MASTER_KEY', 'is required when NODE_ENV=production');
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
    webhookCaFile: values.WEBHOOK_CA_FILE,
    insecureReceivers: local,
    challengeLifetime: values.CHALLENGE_LIFETIME,
    accessTokenLifetime: values.ACCESS_TOKEN_LIFETIME,
    refreshTokenLifetime: values.REFRESH_TOKEN_LIFETIME,
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
    deliveryWorkflows: values.DELIVERY_WORKFLOWS,
    metricsPort: values.METRICS_PORT,
    backlogLimit: values.BACKLOG_LIMIT,
    logLevel: values.LOG_LEVEL,
    logFormat: values.LOG_FORMAT ?? (process.stdout.isTTY === true ? 'pretty' : 'json'),
  });
}

export type Config = ReturnType<typeof loadConfig>;

/** Names of all variables, for the deployment files' test and the documentation. */
export const CONFIG_VARIABLES: readonly string[] = Object.keys(schema.shape);

function needsMasterKey(role: Role): boolean {
  return role !== 'migrate';
}

function reject(issue: z.RefinementCtx, message: string): never {
  issue.addIssue({ code: 'custom', message });
  return z.NEVER;
}
