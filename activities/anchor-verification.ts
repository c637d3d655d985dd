// The activities of anchorVerification. Each calls one use case.
import type { AnchorCheckService, CheckedAnchor } from '../src/identity/anchors/anchor-check.service.ts';
import { forOperator } from './operator-request.ts';

export function createAnchorVerificationActivities({
  anchorChecks,
}: {
  anchorChecks: Pick<AnchorCheckService, 'look' | 'check' | 'fail' | 'requestByOperator'>;
}) {
  return {
    readAnchor: anchorChecks.look,
    /** Checks the anchor's proof if the check is due, and records the outcome. */
    lookForProof: anchorChecks.check,
    /** Records that a pending anchor has failed, because its time has ended. */
    failAnchor: anchorChecks.fail,

    requestLook: (anchor: CheckedAnchor, reason: string | null): Promise<void> =>
      forOperator(reason, (request) => anchorChecks.requestByOperator(anchor, request)),
  };
}

export type AnchorVerificationActivities = ReturnType<typeof createAnchorVerificationActivities>;
