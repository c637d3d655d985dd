// Writes checkpoints as C2SP signed notes, and the keys that verify them, so that any software for such notes reads
// them.
import { createHash } from 'node:crypto';
import type { SignedCheckpoint } from './checkpoint.store.ts';
import { checkpointStatement, originOf } from './checkpoint.ts';

/** The type of an Ed25519 signature in C2SP signed-note. */
const ED25519 = Buffer.of(1);

/** @param publicKey of the checkpoint's key. @returns undefined where the key is gone */
export function noteOf(checkpoint: SignedCheckpoint, publicKey: Uint8Array | undefined): string | undefined {
  if (publicKey === undefined) return undefined;
  const { tenantId, signature } = checkpoint;
  return writeNote(tenantId, { text: checkpointStatement(checkpoint), signature }, publicKey);
}

/** Writes what was signed for a tenant as a note. @param signed.text ends with a line feed */
export function writeNote(
  tenantId: string,
  { text, signature }: { readonly text: string; readonly signature: Uint8Array },
  publicKey: Uint8Array,
): string {
  const name = originOf(tenantId);
  const signed = Buffer.concat([keyIdOf(name, publicKey), signature]).toString('base64');
  return `${text}\n\u2014 ${name} ${signed}\n`;
}

/** Returns the key with which a tenant's notes are verified, in the form `name+id+key`. @param publicKey 32 bytes */
export function noteKeyOf(tenantId: string, publicKey: Uint8Array): string {
  const name = originOf(tenantId);
  const key = Buffer.concat([ED25519, publicKey]).toString('base64');
  return `${name}+${keyIdOf(name, publicKey).toString('hex')}+${key}`;
}

/** Returns the text that a note's signatures are for. */
export const textOfNote = (note: string): string => note.slice(0, note.lastIndexOf('\n\n') + 1);

function keyIdOf(name: string, publicKey: Uint8Array): Buffer {
  return createHash('sha256').update(`${name}\n`).update(ED25519).update(publicKey).digest().subarray(0, 4);
}
