// Verifies the audit log: recomputes its checkpoints and seals, and reports every difference. It only reads, page by
// page.

import { ConfigError } from '../platform/config.ts';
import type { Queryable } from '../platform/database/transaction.ts';
import { Service } from '../platform/service.ts';
import { readBeginning, type StoredBeginning } from './beginning.store.ts';
import { type Beginning, beginningStatement } from './beginning.ts';
import type { StoredSeal } from './checkpoint.store.ts';
import * as checkpoints from './checkpoint.store.ts';
import {
  BEGINNING,
  comparePositions,
  type Head,
  isSameHash,
  NOTHING_BEFORE,
  sealStatement,
} from './checkpoint.ts';
import {
  type AuditKey,
  type CheckpointSigner,
  createCheckpointSigner,
  faultOfHead,
  hashText,
} from './checkpoint-signature.node.ts';
import * as erasures from './erasure.store.ts';
import { isErasureOf } from './erasure.ts';
import { verifyTenant } from './tenant-verifier.node.ts';
import type { VerificationStore } from './verification.store.ts';
import type { Anchor, Finding, VerificationProgress, VerificationReport } from './verification.ts';

const SEALS_AT_ONCE = 200;

export type AuditVerificationNeeds = {
  database: Queryable;

  store: VerificationStore;
  /** The head of the log must be signed with a key that is derived from one of them. */
  auditKeys: readonly AuditKey[];
};

/** Creates the verification of the audit log. */
export class AuditVerificationService extends Service<AuditVerificationNeeds> {
  /**
   * Verifies the log of one tenant or of all tenants. Rows and seals that are written during the verification are
   * ignored.
   * @param options.tenantId the tenant; all tenants when absent
   * @param options.anchors checkpoints that were stored outside the service. Only they can show that the whole log
   * was reset to an earlier state.
   * @param options.onFinding receives each finding immediately
   * @param options.onProgress is called page after page
   * @throws ConfigError without an audit key
   */
  verifyAuditLog = async ({
    tenantId,
    anchors = [],
    onFinding,
    onProgress = () => undefined,
  }: {
    tenantId?: string | undefined;
    anchors?: readonly Anchor[] | undefined;
    onFinding: (finding: Finding) => void;
    onProgress?: ((progress: VerificationProgress) => void) | undefined;
  }): Promise<VerificationReport> => {
    // No other command needs AUDIT_KEY.
    if (this.needs.auditKeys.length === 0) throw new ConfigError('AUDIT_KEY', 'is required');
    const needs = { ...this.needs, signer: createCheckpointSigner(this.needs) };
    let findings = 0;
    const report = (finding: Finding) => {
      findings += 1;
      onFinding(finding);
    };
    const head = await checkpoints.readHead(needs.database);
    const fault = head === undefined ? 'it is gone' : faultOfHead(head, needs.signer);
    if (fault !== undefined) report({ kind: 'head_changed', detail: fault });
    const reach: Head = head ?? (await lastSealAsHead(needs.store));
    const keys = await checkpoints.readKeys(needs.database);
    const stored = await readBeginning(needs.database);
    const faultAtStart = faultOfBeginning(stored, needs.signer, keys);
    if (faultAtStart !== undefined) report({ kind: 'beginning_changed', detail: faultAtStart });
    const beginning = stored?.signed?.beginning;
    const start = startOf(beginning);
    const { seals, sealedRows, incomplete } = await verifySeals(needs, {
      start,
      head: reach,
      keys,
      tenantId,
      report,
      onProgress,
    });
    const verifySignature = (text: string, signature: { keyId: string; bytes: Uint8Array }) =>
      needs.signer.verify(text, signature, keys);
    const erased = await readErased(needs, verifySignature, report);
    const total = { tenants: 0, checkpoints: 0, rows: 0, sealedLate: 0 };
    // The seals count the rows of all tenants together.
    const of = tenantId === undefined ? sealedRows : undefined;
    let read = 0;
    const onPage = (rows: number) => {
      read += rows;
      onProgress({ part: 'rows', looked: read, of });
    };
    for await (const id of tenantId === undefined ? tenantsOf(needs.store, anchors) : [tenantId]) {
      const counts = await verifyTenant(
        { verifySignature, report },
        {
          tenantId: id,
          checkpoints: needs.store.checkpoints(id, reach),
          rows: needs.store.rows(id, reach.last, onPage),
          isIncomplete: incomplete.has(id),
          isErased: erased.has(id),
          anchors: anchors.filter((anchor) => anchor.tenantId === id),
        },
      );
      total.tenants += 1;
      for (const part of ['checkpoints', 'rows', 'sealedLate'] as const) total[part] += counts[part];
    }
    const unsealed = await needs.store.countUnsealed(reach.last, tenantId);
    return { ...total, seals, findings, unsealed, beginning: beginning ?? null };
  };
}

type AuditVerificationTools = AuditVerificationNeeds & { readonly signer: CheckpointSigner };

/** @returns the tenants whose certificate of erasure the service has signed */
async function readErased(
  { database }: AuditVerificationTools,
  verifySignature: (text: string, signature: { keyId: string; bytes: Uint8Array }) => boolean,
  report: (finding: Finding) => void,
): Promise<Set<string>> {
  const erased = new Set<string>();
  for (const { tenantId, statement, keyId, signature } of await erasures.list(database)) {
    const isSigned = verifySignature(statement, { keyId, bytes: signature });
    if (isSigned && isErasureOf(statement, tenantId)) erased.add(tenantId);
    else
      report({
        kind: 'erasure_changed',
        tenantId,
        detail: 'the certificate of its erasure is not as signed',
      });
  }
  return erased;
}

/** Verifies the seals up to the head. @returns their numbers, and the tenants that lack a checkpoint */
async function verifySeals(
  needs: AuditVerificationTools,
  {
    start,
    head,
    keys,
    tenantId,
    report,
    onProgress,
  }: {
    start: Head;
    head: Head;
    keys: ReadonlyMap<string, Uint8Array>;
    tenantId: string | undefined;
    report: (finding: Finding) => void;
    onProgress: (progress: VerificationProgress) => void;
  },
): Promise<{ seals: number; sealedRows: number; incomplete: Set<string> }> {
  let previous = start;
  let count = 0;
  let sealedRows = 0;
  let looked = 0;
  const incomplete = new Set<string>();
  for await (const seal of needs.store.seals(head)) {
    const { n } = seal;
    if (n !== previous.n + 1)
      report({ kind: 'seal_missing', seal: previous.n + 1, detail: `gone, up to ${n - 1}` });
    const statement = sealStatement(seal);
    const reasons = checkSeal(needs, seal, previous, statement, keys);
    if (reasons.length > 0) report({ kind: 'seal_changed', seal: n, detail: reasons.join('; ') });
    previous = { n, hash: hashText(statement), last: seal.last };
    count += 1;
    sealedRows += seal.count;
    onProgress({ part: 'seals', looked: count, of: head.n });
    if (n - looked >= SEALS_AT_ONCE) {
      await reportMissing(looked + 1, n);
      looked = n;
    }
  }
  await reportMissing(looked + 1, previous.n);
  if (previous.n < head.n)
    report({ kind: 'seal_missing', seal: previous.n + 1, detail: `gone, up to the head's ${head.n}` });
  else if (!isSameHash(previous.hash, head.hash))
    report({ kind: 'seal_changed', seal: previous.n, detail: 'the head holds another hash' });
  return { seals: count, sealedRows, incomplete };

  async function reportMissing(from: number, to: number): Promise<void> {
    for (const { tenantId: id, n, seal } of await needs.store.listMissing(from, to, tenantId)) {
      incomplete.add(id);
      report({
        kind: 'checkpoint_missing',
        tenantId: id,
        checkpoint: n,
        seal,
        detail: 'its seal names it, and it is gone',
      });
    }
  }
}

function checkSeal(
  { signer }: AuditVerificationTools,
  { n, previous, last, keyId, signature, checkpoints: named, count }: StoredSeal,
  before: Head,
  statement: string,
  keys: ReadonlyMap<string, Uint8Array>,
): string[] {
  const reasons: string[] = [];
  if (n === before.n + 1 && !isSameHash(previous, before.hash))
    reasons.push('it does not continue the one before');
  if (comparePositions(last, before.last) <= 0) reasons.push('it does not reach beyond the one before');
  if (named.length === 0 || count < named.length) reasons.push('it names other checkpoints than it counts');
  if (!signer.verify(statement, { keyId, bytes: signature }, keys)) reasons.push('its signature is wrong');
  return reasons;
}

/** Returns the fault of the beginning. The first seal names its hash, so that another one does not fit. */
function faultOfBeginning(
  stored: StoredBeginning | undefined,
  signer: CheckpointSigner,
  keys: ReadonlyMap<string, Uint8Array>,
): string | undefined {
  if (stored === undefined) return 'it is gone';
  if (stored.signed === null) return 'it is not signed';
  const { beginning, signature } = stored.signed;
  return signer.verify(beginningStatement(beginning), signature, keys) ? undefined : 'its signature is wrong';
}

/** Returns what the first seal continues. */
function startOf(beginning: Beginning | undefined): Head {
  const hash = beginning === undefined ? NOTHING_BEFORE : hashText(beginningStatement(beginning));
  return { n: 0, hash, last: BEGINNING };
}

/** Returns the last seal in the form of a head. Used when the row of the head is missing. */
async function lastSealAsHead(store: VerificationStore): Promise<Head> {
  let last: Head = { n: 0, hash: NOTHING_BEFORE, last: BEGINNING };
  const everything = { ...last, n: Number.MAX_SAFE_INTEGER };
  for await (const seal of store.seals(everything))
    last = { n: seal.n, hash: hashText(sealStatement(seal)), last: seal.last };
  return last;
}

/** Yields every tenant that has rows, stored checkpoints, or checkpoints among `anchors`. */
async function* tenantsOf(store: VerificationStore, anchors: readonly Anchor[]): AsyncGenerator<string> {
  const wanted = new Set(anchors.map((anchor) => anchor.tenantId));
  for await (const id of store.tenants()) {
    wanted.delete(id);
    yield id;
  }
  yield* wanted;
}
