// The views of workflows that operators open first, as queries of the Temporal UI. Pure.

export type View = { readonly name: string; readonly query: string };

/** @param now milliseconds since 1970; the second view covers the day before */
export function viewsAt(now: number, tenantSlug: string): readonly View[] {
  const yesterday = new Date(now - 86_400_000).toISOString().slice(0, 19);
  return [
    { name: 'Retrying now', query: 'DeliveryStatus="retrying" AND ExecutionStatus="Running"' },
    { name: 'Failed in 24 h', query: `DeliveryStatus="failed" AND CloseTime>"${yesterday}Z"` },
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
