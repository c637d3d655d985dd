// What an operator's act is: who did what to what, and why. Types only.

/** Who acts, and why. The reason is shown in the audit log of each tenant concerned. */
export type OperatorIntent = { readonly operator: string; readonly reason: string };

/** What is done. `action` is dotted, as in the audit log: `tenant.suspended`. */
export type OperatorDeed = {
  readonly action: string;
  readonly target: { readonly type: 'tenant' | 'host'; readonly id: string };
  readonly data?: Readonly<Record<string, unknown>> | undefined;
};

/** An act as it is on record. `n` counts all acts without a gap; `tenants`: in how many audit logs it stands. */
export type OperatorAct = OperatorIntent &
  OperatorDeed & { readonly n: number; readonly at: Date; readonly tenants: number };
