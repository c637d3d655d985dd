// Types of an operator act.
import type { OperatorActRow } from './operator-act.model.ts';

export type OperatorIntent = { readonly operator: string; readonly reason: string };

/** `action` is dotted, as in the audit log: `tenant.suspended`. */
export type OperatorDeed = {
  readonly action: string;
  readonly target: { readonly type: 'tenant' | 'host' | 'delivery' | 'service'; readonly id: string };
  readonly data?: Readonly<Record<string, unknown>> | undefined;
};

/**
 * State of the log. `missing`: numbers without an act. `altered`: acts whose hash does not follow from the previous
 * act. `head`: number and hash of the newest act, to compare with a copy kept elsewhere, because a person with write
 * access to the whole database can forge the whole log.
 */
export type RecordState = {
  readonly missing: number;
  readonly altered: number;
  readonly head: { readonly n: number; readonly hash: string };
};

/** A recorded act. `n` counts all acts without a gap; `tenants`: the number of tenants whose audit log has it. */
export type OperatorAct = OperatorIntent &
  Pick<OperatorDeed, 'action' | 'target'> &
  Pick<OperatorActRow, 'n' | 'at' | 'data' | 'tenants'>;
