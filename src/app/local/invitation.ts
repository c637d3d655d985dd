// The text for the operator when a local stack is ready: addresses, files and example commands. Pure.

/** Addresses and files of a ready stack; null for a part that this stack does not run. */
export type Invitation = {
  readonly seconds: number;
  readonly publicUrl: string;
  readonly temporalUi: string | null;
  /** Views of the Temporal UI; none without it. */
  readonly views: readonly { readonly name: string; readonly url: string }[];
  /** Addresses of the metrics, those of the workers first. */
  readonly metrics: readonly string[];
  readonly credentials: string;
  /** A link that signs in to the console once; null without a default tenant. */
  readonly consoleLink: string | null;
  readonly dataDir: string;
};

/** The same facts as JSON: addresses are URLs, files are paths relative to the current folder. */
export function describeStack(stack: Invitation) {
  return {
    seconds: Number(stack.seconds.toFixed(1)),
    base_url: stack.publicUrl,
    openapi_url: `${stack.publicUrl}/openapi.json`,
    temporal_ui_url: stack.temporalUi,
    temporal_views: stack.views,
    metrics_urls: stack.metrics,
    console_url: stack.consoleLink,
    failed_url: stack.consoleLink && failedLink(stack.consoleLink),
    credentials_file: stack.credentials,
    data_dir: stack.dataDir,
  };
}

/** @returns lines for a terminal */
export function invite(stack: Invitation): string[] {
  const { publicUrl, consoleLink } = stack;
  const later = '(signs in once, for ten minutes; later: npx countersign console)';
  const all: readonly (readonly [name: string, value: string | null])[] = [
    ['API and issuer', publicUrl],
    ['OpenAPI document', `${publicUrl}/openapi.json`],
    ['Temporal UI', stack.temporalUi],
    ['Metrics', stack.metrics.join(' ')],
    ['Console', consoleLink && `${consoleLink} ${later}`],
    ['What has failed', consoleLink && failedLink(consoleLink)],
    ['API reference', `${publicUrl}/docs`],
    ['Credentials', `${stack.credentials} (client_id and client_secret of the tenant demo)`],
    ['Try next', 'npm run demo (in another terminal)'],
  ];
  const rows = all.flatMap(([name, value]) => (value ? [[name, value] as const] : []));
  const width = Math.max(...rows.map(([name]) => name.length));
  return [
    '',
    `Countersign is ready (${stack.seconds.toFixed(1)} s).`,
    '',
    ...rows.map(([name, value]) => `  ${name.padEnd(width)}  ${value}`),
    '',
    ...(stack.views.length === 0 ? [] : ['In the Temporal UI:']),
    ...stack.views.map(({ name, url }) => `  ${name.padEnd(22)}${url}`),
    ...(stack.views.length === 0 ? [] : ['']),
    `Ctrl-C stops everything in order; the data stay in ${stack.dataDir}.`,
    '',
  ];
}

/** The page of the console with the deliveries that failed. */
const failedLink = (consoleLink: string): string => `${consoleLink.split('#')[0]}/deliveries?status=failed`;

type View = { readonly name: string; readonly query: string };

/** Most deliveries that fail have no workflow, so that no view shows them: the console has all. */
export function viewsOf(tenantSlug: string): readonly View[] {
  return [
    {
      name: 'Waiting now',
      query: 'WorkflowType IN ("webhookDelivery","endpointRecovery") AND ExecutionStatus="Running"',
    },
    {
      name: 'Endpoints in trouble',
      query: 'WorkflowType="endpointRecovery" AND ExecutionStatus="Running"',
    },
    {
      name: 'Rotations that wait',
      query: 'WorkflowType IN ("agentKeyRotation","webhookSecretRotation") AND ExecutionStatus="Running"',
    },
    { name: `Tenant ${tenantSlug}`, query: `TenantSlug="${tenantSlug}"` },
  ];
}

/** The address of a view. @param workflowsUrl address of the list of workflows in the UI */
export function urlOfView(workflowsUrl: string, { query }: View): string {
  return `${workflowsUrl}?query=${encodeURIComponent(query)}`;
}
