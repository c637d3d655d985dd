// Which test runs the shell blocks of which page, and which blocks no test can run, each with its reason.

/**
 * Pages whose blocks are run from the first to the last: README.md by readme.test.ts, the example by
 * mcp-server.test.ts, the others by walks.test.ts.
 */
export const WALKED = [
  'README.md',
  'examples/mcp-server/README.md',
  'docs/agents.md',
  'docs/audit-log.md',
  'docs/events.md',
  'docs/key-rotation.md',
  'docs/resource-servers.md',
  'docs/shared-signals.md',
  'docs/token-exchange.md',
  'docs/workloads.md',
];

/** Pages whose commands of Temporal's command line test/documentation/operations-pages.test.ts runs. */
export const isOperationsPage = (page: string) => page.startsWith('docs/operations/');

/**
 * Blocks that are run elsewhere or not at all: page, a text that only they contain, and the test or the reason.
 * Every other block is of a page above.
 */
export const ELSEWHERE: readonly (readonly [page: string, text: string, why: string])[] = [
  ['README.md', 'npm start  ', 'test/app/local runs the whole stack'],
  ['README.md', 'npm run demo', 'test/app/local/demo.test.ts runs it'],
  ['README.md', 'npx countersign', 'names of commands and options: test/documentation/pages.test.ts'],
  ['CONTRIBUTING.md', 'npm run check', 'the scripts themselves; names: test/documentation/pages.test.ts'],
  ['docs/audit-log.md', 'go run .', 'test/audit/auditor.test.ts builds and runs the program'],
  [
    'docs/command-line.md',
    'npx countersign',
    'test/app/terminal runs the commands; names: test/documentation/pages.test.ts',
  ],
  ['docs/console.md', 'application create', 'test/identity/applications makes such an application'],
  ['docs/contract-testing.md', 'pip install schemathesis', 'installs from PyPI: npm run judges'],
  [
    'docs/contract-testing.md',
    'npx openapi-typescript',
    'test/platform/http/openapi-clients.test.ts, and npm run judges',
  ],
  ['docs/contract-testing.md', 'scripts/contract.mjs', 'minutes of a fuzzer that PyPI has'],
  ['docs/contract-testing.md', 'schemathesis run', 'minutes of a fuzzer that PyPI has'],
  ['docs/contract-testing.md', 'fapi-test-suite.jar', 'a suite in Java beside MongoDB: npm run judges'],
  [
    'docs/deployment.md',
    'docker compose',
    'needs Docker; test/deploy/compose.test.ts holds the file against the page',
  ],
  ['docs/erasure.md', 'countersign operator', 'test/operations/erasure runs the commands'],
  ['docs/erasure.md', 'countersign user', 'test/app/terminal/resource.test.ts runs it'],
  [
    'docs/erasure.md',
    'docker compose run',
    'by hand: needs Docker and a cluster; test/app/roles/standard-streams.test.ts runs it',
  ],
  ['docs/erasure.md', 'VACUUM (FULL', 'by hand: needs Docker, and locks every table'],
  ['docs/retention.md', '/api/v1/tenant', 'test/identity/tenants/tenant.service.test.ts sends such a change'],
  ['docs/security.md', 'openssl genpkey', 'takes minutes: npm run nightly -- two-builds'],
  ['docs/security.md', 'verify-release.mjs', 'test/deploy/release.test.ts'],
  ['docs/operations/wrapped-keys.md', 'master-key wrap', 'test/platform/kms/key-services.test.ts'],
  ['docs/fresh-host.md', '.env.example', 'test/deploy/fresh-host.test.ts'],
  [
    'docs/fresh-host.md',
    'tenant create acme',
    'needs Docker, where test/deploy/driver.mjs runs it; test/deploy/compose.test.ts holds the file against the page',
  ],
  ['docs/fresh-host.md', 'ssh ', 'needs another machine'],
  ['docs/fresh-host.md', 'lost-$now', 'test/deploy/operator-lines.test.ts'],
  ['docs/fresh-host.md', 'tar cf - -C', 'test/deploy/operator-lines.test.ts'],
  ['docs/kubernetes.md', 'docker build', 'needs Docker; the Dockerfile: test/deploy/compose.test.ts'],
  [
    'docs/kubernetes.md',
    'kubectl create secret',
    'needs a cluster; keys of Secrets: test/deploy/chart.test.ts',
  ],
  [
    'docs/kubernetes.md',
    'helm upgrade --install',
    'needs a cluster; test/deploy/helm.test.ts renders the values of the page',
  ],
  [
    'docs/kubernetes.md',
    '--set-string image.tag',
    'needs a cluster; test/deploy/helm.test.ts renders the chart',
  ],
  ['docs/kubernetes.md', 'set-ramping-version', 'as the lines of docs/operations/upgrade.md'],
  ['docs/kubernetes.md', 'PrometheusRule', 'needs a cluster; the rules: test/deploy/observability.test.ts'],
  ['docs/fresh-host.md', 'recovery.signal', 'test/deploy/operator-lines.test.ts'],
  [
    'docs/performance.md',
    'npm run bench',
    'minutes; test/app/local/bench.test.ts runs the bench, .ci/run its guard',
  ],
  ['docs/operations/backup.md', 'export PGDATA', 'test/operations/backup.test.ts'],
  ['docs/operations/backup.md', '"$PGDATA"', 'test/operations/backup.test.ts'],
  ['docs/operations/doctor.md', 'countersign doctor', 'test/operations/doctor/doctor.command.test.ts'],
  ['docs/operations/incidents.md', 'countersign operator', 'test/operations/operators/incidents.test.ts'],
  [
    'docs/operations/issuer-key-rotation.md',
    'master-key reseal',
    'test/operations/master-keys/stolen-key.test.ts',
  ],
  [
    'docs/operations/issuer-key-rotation.md',
    'a backup was stolen',
    'test/operations/master-keys/stolen-key.test.ts',
  ],
  ['docs/operations/traces.md', 'jaegertracing', 'needs Docker'],
  ['docs/operations/database-passwords.md', 'set_password() {', 'test/deploy/operator-lines.test.ts'],
  ['docs/operations/database-passwords.md', 'replace.sh', 'test/deploy/operator-lines.test.ts'],
  ['docs/operations/database-passwords.md', 'ALTER ROLE', 'test/deploy/operator-lines.test.ts'],
  ['docs/operations/database-passwords.md', 'temporal-role', 'test/deploy/operator-lines.test.ts'],
  ['docs/kubernetes.md', 'restore-check', 'needs a cluster; test/deploy/helm.test.ts renders the Job'],
  ['docs/operations/wrapped-keys.md', 'exchange "$old,$new"', 'test/deploy/operator-lines.test.ts'],
  ['docs/operations/wrapped-keys.md', '4., when', 'test/deploy/operator-lines.test.ts'],
  ['docs/operations/upgrade.md', 'set_version()', 'test/deploy/operator-lines.test.ts'],
  ['docs/operations/upgrade.md', 'cp -p .env.former .env\n', 'test/deploy/operator-lines.test.ts'],
  [
    'docs/operations/upgrade.md',
    'WORKER_BUILD_ID',
    'test/workflows/worker-version.test.ts hands over by its line',
  ],
];
