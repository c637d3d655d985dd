// All settings of the service: form, default and meaning. docs/settings.md is generated from this file.
import { resolve } from 'node:path';
import { z } from 'zod';
import { TRACING_VARIABLES } from './config-tracing.ts';
import {
  buildId,
  databaseUrl,
  dnsServers,
  grpcAddress,
  networks,
  oneOf,
  origin,
  port,
  sealingKeys,
  slug,
  tenantUrl,
  webUrl,
  wholeNumber,
} from './config-values.ts';

/**
 * Default ports of a worker and an api process. They differ so that both can run on one machine; `npm start` counts up
 * from the port of the workers.
 */
export const METRICS_PORTS = { api: 9_465, worker: 9_464 } as const;

/** Requests a minute. `local` is for a development machine, where load tests come from one address. */
export const RATE_LIMITS = {
  deployed: { tenant: 60_000, address: 1_200, fingerprintFailures: 10, clientFailures: 10, publish: 60_000 },
  local: {
    tenant: 10_000_000,
    address: 10_000_000,
    fingerprintFailures: 1_000,
    clientFailures: 1_000,
    publish: 10_000_000,
  },
} as const;

/** Requests a minute; 0 turns the limit off. */
const limit = wholeNumber(0, 1_000_000_000).optional();

/**
 * All variables, in the order and under the titles of docs/settings.md. `shown` describes a default that depends on
 * other settings; a `secret` can come from a file too.
 */
export const VARIABLES = {
  Addresses: {
    PORT: port.default(8080).meta({ description: 'port of the API' }),
    HOST: z.string().default('127.0.0.1').meta({ description: 'address on which the API listens' }),
    PUBLIC_URL: origin.optional().meta({
      description: "origin of the default tenant, and of the other tenants' addresses",
      shown: '`http://localhost:<PORT>`',
    }),
    DEFAULT_TENANT: slug.optional().meta({
      description: 'the tenant that is served at the root',
      shown: 'none; `demo` under `npm start`',
    }),
    TENANT_URL: tenantUrl.optional().meta({
      description: 'address of the other tenants; `{tenant}` may be in the host',
      shown: '`<PUBLIC_URL>/t/{tenant}`',
    }),
    ERROR_TYPE_BASE: webUrl
      .default('https://errors.countersign.dev')
      .meta({ description: 'base address of error type URIs' }),
    DOCS_URL: webUrl.optional().meta({
      description: 'base address of these pages, for links in the Temporal UI and in alerts',
      shown: '`{base_url}/docs/guides` of the tenant; none in alerts',
    }),
    TRUSTED_PROXIES: networks.default([]).meta({
      description:
        'CIDR blocks of the proxies whose `X-Forwarded-For` counts. Behind any other proxy all clients have one address for the limits',
    }),
  },
  'Postgres and Temporal': {
    DATABASE_URL: databaseUrl
      .optional()
      .meta({ secret: true, description: 'Postgres; required, except for `npm start`, which has its own' }),
    DATABASE_ROLE: z.string().min(1).max(63).optional().meta({
      description:
        'the role of the `DATABASE_URL` of api and worker. `migrate`, whose `DATABASE_URL` has the owner of the tables, grants it what they need and no more ([decisions/0023-database-roles.md](decisions/0023-database-roles.md)); only `migrate` reads this. `npm start` makes one',
    }),
    DATABASE_ROLE_PASSWORD: z.string().min(1).optional().meta({
      secret: true,
      description: 'with it `migrate` makes that role where it is missing, and sets its password',
    }),
    DATABASE_POOL: wholeNumber(2, 500).default(10).meta({
      description:
        'a process opens at most pool + 3 connections, and its transactions hold at most half of the pool, those of one tenant all but one of that half; keep all processes together below `max_connections` of Postgres',
    }),
    TEMPORAL_ADDRESS: grpcAddress.optional().meta({
      description:
        'Temporal; required, except for `npm start`, which has its own. Further `TEMPORAL_*` variables (TLS, metadata) have the same meaning as for the tools of Temporal',
    }),
    TEMPORAL_API_KEY: z
      .string()
      .optional()
      .meta({ secret: true, description: 'what Temporal knows this service by, where it wants that' }),
    TEMPORAL_TLS_CLIENT_KEY_DATA: z.string().optional().meta({
      secret: true,
      description: 'key of the certificate by which Temporal knows this service, where it wants that (PEM)',
    }),
    TEMPORAL_NAMESPACE: z
      .string()
      .min(1)
      .default('countersign')
      .meta({ description: 'namespace of all workflows' }),
    TEMPORAL_UI_URL: webUrl.optional().meta({
      description: 'for the links to workflows in answers',
      shown: '`http://localhost:<TEMPORAL_UI_PORT>`',
    }),
    FIRST_ATTEMPTS: oneOf(['api', 'worker']).default('api').meta({
      description:
        'the process that makes the first attempt of a published event: with `api` the one that has accepted it, without a way through the outbox, and a worker whenever that process is busy; `worker` for an API that must reach no receiver',
    }),
    OPERATOR_ENDS: oneOf(['temporal', 'service']).default('temporal').meta({
      description:
        'where an operator ends something: with `temporal` also by updates, signals and cancellations of workflows, so that every client of the port of Temporal can; with `service` workers refuse these, and routes and commands remain ([security.md](security.md#residual-risks)). The same value in all workers',
    }),
    WORKER_BUILD_ID: buildId.optional().meta({
      description:
        'the release of a worker. With it Temporal gives the work to one release until an operator names another ([operations/upgrade.md](operations/upgrade.md))',
    }),
  },
  Secrets: {
    MASTER_KEY: sealingKeys.optional().meta({
      secret: true,
      description:
        '32 bytes in base64, or wrapped by a key service ([operations/wrapped-keys.md](operations/wrapped-keys.md)); several, separated by commas: the first seals, all open. Required, except for `npm start`, which keeps one in `DATA_DIR`. Run `countersign master-key reseal`, which seals all secrets with the first key, before you remove an old key',
    }),
    AUDIT_KEY: sealingKeys.optional().meta({
      secret: true,
      description:
        'the same form, another key: `worker` and `migrate` sign the audit log with the first, and trust all ([audit-log.md](audit-log.md)). Required for `worker`, except under `npm start`, for the first `migrate` and for `audit verify`; an `api` is not to have it',
    }),
    AWS_REGION: z.string().optional().meta({
      description:
        'of AWS KMS, for keys that it has wrapped. Further `AWS_*` variables (credentials, `AWS_ENDPOINT_URL_KMS`) have the same meaning as for the tools of AWS',
    }),
    VAULT_ADDR: webUrl.optional().meta({ description: 'of Vault, for keys that it has wrapped' }),
    VAULT_TOKEN: z.string().optional().meta({
      secret: true,
      description: 'what Vault knows this service by, for example the file in which Vault Agent keeps it',
    }),
    VAULT_NAMESPACE: z.string().optional().meta({ description: 'namespace of Vault Enterprise' }),
    VAULT_CACERT: z.string().optional().meta({ description: 'certificate authority of Vault (PEM)' }),
  },
  Lifetimes: {
    CHALLENGE_LIFETIME: wholeNumber(10, 3600).default(300).meta({ description: 'seconds' }),
    ACCESS_TOKEN_LIFETIME: wholeNumber(10, 86_400).default(300).meta({ description: 'seconds' }),
    REFRESH_TOKEN_LIFETIME: wholeNumber(60, 31_536_000)
      .default(2_592_000)
      .meta({ description: 'seconds (30 days unless set)' }),
    ISSUER_KEY_LIFETIME: wholeNumber(3_600, 63_072_000).default(7_776_000).meta({
      description:
        'seconds (90 days unless set; from an hour to two years) for which an issuer key signs before the next one does; the same value in all processes',
    }),
    RETENTION_DAYS: wholeNumber(2, 30).default(30).meta({
      description:
        'days for which ended deliveries and events are kept at most; a tenant may set fewer ([retention.md](retention.md)). The same value in all processes',
    }),
    AUDIT_ADDRESS_DAYS: wholeNumber(1, 36_500).optional().meta({
      description:
        'days for which the audit log has the addresses of clients at most; a tenant may set fewer. The same value in all processes',
      shown: 'none: as long as the log',
    }),
  },
  'Outgoing connections': {
    WEBHOOK_ALLOWED_NETWORKS: networks.optional().meta({
      description:
        'CIDR blocks in which receivers may be, in addition to public addresses. Plain `http` is allowed to these blocks. If any block is set, receivers may have names that only the system knows (hosts file, search domains); otherwise production resolves names by DNS only',
      shown: 'none; the loopback under `npm start`',
    }),
    WEBHOOK_CA_FILE: z
      .string()
      .optional()
      .meta({ description: 'further certificate authorities for receivers (PEM)' }),
    ANCHOR_DNS_SERVERS: dnsServers.default([]).meta({
      description:
        "DNS servers that are asked about anchors' domains, such as `192.0.2.53` or `192.0.2.53:5353`. Name public ones where the system's servers answer differently inside than outside",
      shown: "the system's",
    }),
    ANCHOR_HTTPS_PORT: wholeNumber(1, 65_535)
      .default(443)
      .meta({ description: 'port of the proofs of `domain_https`; other ports are for development only' }),
  },
  Limits: {
    RATE_LIMIT_TENANT: limit.meta({
      description:
        'requests of a tenant a minute, all processes together; requests without an access token have half as many for themselves ([limits.md](limits.md)). 0 turns a limit off; `npm start` sets all limits high enough for load tests from one address',
      shown: RATE_LIMITS.deployed.tenant,
    }),
    RATE_LIMIT_ADDRESS: limit.meta({
      description: 'requests from one address a minute',
      shown: RATE_LIMITS.deployed.address,
    }),
    RATE_LIMIT_PUBLISH: limit.meta({
      description:
        'deliveries of the events that a tenant publishes a minute; an event without a delivery counts as one',
      shown: RATE_LIMITS.deployed.publish,
    }),
    RATE_LIMIT_FINGERPRINT_FAILURES: limit.meta({
      description:
        'failed authentications a minute of one key from one address, and failed enrollments with one token',
      shown: RATE_LIMITS.deployed.fingerprintFailures,
    }),
    RATE_LIMIT_CLIENT_FAILURES: limit.meta({
      description: 'failed authentications a minute of one client from one address',
      shown: RATE_LIMITS.deployed.clientFailures,
    }),
    BACKLOG_LIMIT: wholeNumber(1, 1_000_000_000).default(1_000_000).meta({
      description:
        'number of undelivered deliveries of a tenant from which on publishing is refused with 429',
    }),
    SUBSCRIPTION_LIMIT: wholeNumber(1, 1_000_000).default(1_000).meta({
      description:
        'the most subscriptions of a tenant, streams among them; `countersign tenant limit` gives one tenant another number',
    }),
  },
  'Logs and metrics': {
    LOG_LEVEL: oneOf(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'])
      .default('info')
      .meta({ description: '`trace`, `debug`, `info`, `warn`, `error`, `fatal` or `silent`' }),
    LOG_FORMAT: oneOf(['pretty', 'json'])
      .optional()
      .meta({ description: '`pretty` or `json`', shown: '`pretty` on a terminal, else `json`' }),
    METRICS_PORT: port.optional().meta({
      description:
        'port on which a process serves its health and its metrics ([operations/metrics.md](operations/metrics.md)); 0: none. It authenticates no client: never publish it',
      shown: `${METRICS_PORTS.worker} for a worker, ${METRICS_PORTS.api} for an api`,
    }),
    METRICS_HOST: z.string().default('127.0.0.1').meta({ description: 'address on which that port listens' }),
  },
  Traces: TRACING_VARIABLES,
  'Commands of a tenant': {
    COUNTERSIGN_CLIENT_SECRET: z.string().optional().meta({
      secret: true,
      description:
        'the secret of the application that a command acts as; what else it takes: [command-line.md](command-line.md)',
    }),
    WEBHOOK_SECRET: z.string().optional().meta({
      secret: true,
      description: 'the secret of a subscription, for `countersign sign` and `countersign verify-receiver`',
    }),
  },
  Process: {
    NODE_ENV: oneOf(['production', 'development', 'test']).default('development').meta({
      description:
        '`production` for every deployment; it refuses everything that is meant for development only',
    }),
    DATA_DIR: z
      .string()
      .transform((folder) => resolve(folder))
      .prefault('.data')
      .meta({ description: 'where `npm start` keeps its data' }),
    TEMPORAL_PORT: port.default(7233).meta({ description: 'of the Temporal server of `npm start`' }),
    TEMPORAL_UI_PORT: port.default(8233).meta({ description: 'of the Web UI of that server' }),
  },
};

export const schema = z.object({
  ...VARIABLES.Addresses,
  ...VARIABLES['Postgres and Temporal'],
  ...VARIABLES.Secrets,
  ...VARIABLES.Lifetimes,
  ...VARIABLES['Outgoing connections'],
  ...VARIABLES.Limits,
  ...VARIABLES['Logs and metrics'],
  ...VARIABLES.Traces,
  ...VARIABLES['Commands of a tenant'],
  ...VARIABLES.Process,
});

export const CONFIG_VARIABLES: readonly string[] = Object.keys(schema.shape);

/** The variables with a secret. Each can come from a file, which the variable `<NAME>_FILE` names. */
export const SECRET_VARIABLES: readonly string[] = Object.entries(schema.shape).flatMap(([name, type]) =>
  type.meta()?.secret === true ? [name] : [],
);
