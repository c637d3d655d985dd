// Parts of a seal, which several sealers prepare at the same time: their signed texts, and when they make up a seal.
// The audit key signs each text, so a writer of the database without that key can bring nothing into a seal.
// docs/decisions/0049-parts-of-a-seal.md
import { type Head, hex, type Position, type Seal } from './checkpoint.ts';
import { type CheckpointSigner, hashText } from './checkpoint-signature.node.ts';

/** What one part is to hold: the rows of these tenants up to `last`, behind the seal before. */
export type Assignment = {
  /** Number of the seal. */
  readonly n: number;
  /** Hash of the seal before, in hexadecimal. */
  readonly previous: string;
  readonly last: Position;
  readonly sealedAt: string;
  /** Parts are numbered from 0; `of` is their number. */
  readonly part: number;
  readonly of: number;
  /** Each tenant with the number of its rows. */
  readonly tenants: readonly (readonly [id: string, rows: number])[];
  readonly keyId: string;
};

/** What a sealer has made of a part. Hashes are hexadecimal. */
export type PartResult = {
  /** Hash of the text of the assignment. */
  readonly assignment: string;
  /** SHA-256 of the JSON of the checkpoints. */
  readonly digest: string;
  readonly checkpoints: readonly { readonly tenantId: string; readonly n: number; readonly hash: string }[];
  readonly keyId: string;
};

export type SignedText = { readonly text: string; readonly signature: Uint8Array };

/** A part as it is stored; `digest` is that of the JSON that is stored with it. */
export type StoredPart = {
  readonly assignment: SignedText;
  readonly result: (SignedText & { readonly digest: string }) | null;
};

/** All that a seal holds, made by parts. */
export type PreparedSeal = Pick<Seal, 'count' | 'last' | 'sealedAt' | 'checkpoints'>;

const ASSIGNMENT = 'SERVICE-AUDIT-PART-V1\n';
const RESULT = 'SERVICE-AUDIT-PART-RESULT-V1\n';

export const hashOf = (text: string): string => hex(hashText(text));

export const signAssignment = (signer: CheckpointSigner, given: Omit<Assignment, 'keyId'>): SignedText =>
  signAs(signer, ASSIGNMENT, given);

export const signResult = (signer: CheckpointSigner, given: Omit<PartResult, 'keyId'>): SignedText =>
  signAs(signer, RESULT, given);

/** @returns undefined for a text that no present audit key has signed, or that is not for the seal after the head */
export function openAssignment(
  signer: CheckpointSigner,
  signed: SignedText,
  head: Head,
): Assignment | undefined {
  const assignment = readAs<Assignment>(signer, ASSIGNMENT, signed);
  return assignment?.n === head.n + 1 && assignment.previous === hex(head.hash) ? assignment : undefined;
}

/**
 * Joins the parts of a seal.
 * @returns undefined when the parts are not those of the seal after the head, or are not as they were signed; `open`
 * when one of them is not made yet
 */
export function joinParts(
  signer: CheckpointSigner,
  stored: readonly StoredPart[],
  head: Head,
): PreparedSeal | 'open' | undefined {
  const assignments = stored.map(({ assignment }) => openAssignment(signer, assignment, head));
  const [first] = assignments;
  if (first === undefined || stored.length !== first.of) return undefined;
  const plan = planOf(first);
  if (assignments.some((one, index) => one === undefined || one.part !== index || planOf(one) !== plan))
    return undefined;
  if (stored.some(({ result }) => result === null)) return 'open';
  const results = stored.map((part) => readResult(signer, part));
  const checkpoints = results.flatMap((result) => result?.checkpoints ?? []);
  if (results.includes(undefined)) return undefined;
  const { last, sealedAt } = first;
  return {
    count: assignments.reduce((sum, one) => sum + (one === undefined ? 0 : countRows(one)), 0),
    last,
    sealedAt,
    checkpoints: checkpoints.map((one) => ({ ...one, hash: Buffer.from(one.hash, 'hex') })),
  };
}

export const countRows = ({ tenants }: Pick<Assignment, 'tenants'>): number =>
  tenants.reduce((sum, [, rows]) => sum + rows, 0);

/** What all parts of one seal have in common. */
const planOf = ({ n, previous, last, sealedAt, of, keyId }: Assignment) =>
  JSON.stringify([n, previous, last.xid, last.id, sealedAt, of, keyId]);

function readResult(
  signer: CheckpointSigner,
  { assignment, result: stored }: StoredPart,
): PartResult | undefined {
  const result = stored === null ? undefined : readAs<PartResult>(signer, RESULT, stored);
  return result?.assignment === hashOf(assignment.text) && result.digest === stored?.digest
    ? result
    : undefined;
}

function signAs(signer: CheckpointSigner, title: string, given: object): SignedText {
  const text = title + JSON.stringify({ ...given, keyId: signer.keyId });
  return { text, signature: signer.sign(text) };
}

/** Reads nothing of a text before its signature is verified. */
function readAs<Read extends { readonly keyId: string }>(
  signer: CheckpointSigner,
  title: string,
  { text, signature }: SignedText,
): Read | undefined {
  if (!text.startsWith(title) || !signer.isSigned(text, signature)) return undefined;
  return JSON.parse(text.slice(title.length)) as Read;
}
