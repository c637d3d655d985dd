// What an operator's act is: who did what to what, and why. Types only.

/** Who acts, and why. The reason is shown in the audit log of each tenant concerned. */
export type OperatorIntent = { readonly operator: string; readonly reason: string };

/** What is done. `action` is dotted, as in the audit log: `tenant.suspended`. */
export type OperatorDeed = {
  readonly action: string;
  readonly target: { readonly type: 'tenant' | 'host' | 'service'; readonly id: string };
  readonly data?: Readonly<Record<string, unknown>> | undefined;
};

/**
 * What can be told of the record. `missing`: numbers up to the newest without an act. `altered`: acts that do not follow from the one before.
 * `head`: of the newest act, to be compared with what was noted elsewhere: whoever may write the whole database can make another record.
 */
export type RecordState = {
  readonly missing: number;
  readonly altered: number;
  readonly head: { readonly n: number; readonly hash: string };
};

/** An act as it is on record. `n` counts all acts without a gap; `tenants`: in how many audit logs it stands. */
export type OperatorAct = OperatorIntent &
  OperatorDeed & { readonly n: number; readonly at: Date; readonly tenants: number };
