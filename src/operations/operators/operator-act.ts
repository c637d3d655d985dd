// The types of an operator act: the operator, the action, its target and the reason.

/** The operator and the reason, which the audit log of each tenant concerned shows. */
export type OperatorIntent = { readonly operator: string; readonly reason: string };

/** The action and its target. `action` is dotted, as in the audit log: `tenant.suspended`. */
export type OperatorDeed = {
  readonly action: string;
  readonly target: { readonly type: 'tenant' | 'host' | 'service'; readonly id: string };
  readonly data?: Readonly<Record<string, unknown>> | undefined;
};

/**
 * State of the record. `missing`: numbers up to the newest without an act. `altered`: acts that do not follow from the
 * one before. `head`: number and hash of the newest act, to be compared with a copy that is kept elsewhere: a person
 * who may write the whole database can forge the whole record.
 */
export type RecordState = {
  readonly missing: number;
  readonly altered: number;
  readonly head: { readonly n: number; readonly hash: string };
};

/** A recorded act. `n` counts all acts without a gap; `tenants`: the number of tenants whose audit log has it. */
export type OperatorAct = OperatorIntent &
  OperatorDeed & { readonly n: number; readonly at: Date; readonly tenants: number };
