// Sends documents that do not change while the process lives, compressed as the client accepts.
import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import Negotiator from 'negotiator';
import { matchesEtag } from './etag.ts';
import type { Context } from './request-state.ts';

type Coding = 'br' | 'gzip' | 'identity';
type Form = { readonly etag: string; readonly bytes: Promise<Buffer> };

/** A content that does not change. */
export type Document = (coding: Coding) => Form;

/**
 * The forms of a document by content coding, each with its own strong tag. A form is made once, when it is asked for.
 * @param ready forms that were made before
 */
export function createDocument(
  content: string | Uint8Array,
  ready: { readonly [C in Coding]?: Buffer | undefined } = {},
): Document {
  const hash = createHash('sha256').update(content).digest('base64url');
  const plain = Buffer.from(content);
  const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } };
  const make = {
    br: () => promisify(brotliCompress)(plain, quality),
    gzip: () => promisify(gzip)(plain),
    identity: () => Promise.resolve(plain),
  };
  const made = new Map<Coding, Form>();
  return (coding) => {
    const form = made.get(coding) ?? {
      etag: coding === 'identity' ? `"${hash}"` : `"${hash}-${coding}"`,
      bytes: Promise.resolve(ready[coding] ?? make[coding]()),
    };
    made.set(coding, form);
    return form;
  };
}

/** Sends a document in the coding that the client prefers, or 304 when the client has it. */
export async function sendDocument(ctx: Context, document: Document, type: string): Promise<void> {
  const { headers } = ctx.req;
  const asked = new Negotiator({ headers }).encodings(['br', 'gzip', 'identity']);
  const coding = (asked[0] ?? 'identity') as Coding;
  const { etag, bytes } = document(coding);
  ctx.res.setHeader('etag', etag);
  ctx.vary('accept-encoding');
  if (matchesEtag(headers['if-none-match'], etag)) {
    ctx.status = 304;
    return;
  }
  if (coding !== 'identity') ctx.res.setHeader('content-encoding', coding);
  ctx.res.setHeader('content-type', type);
  ctx.status = 200;
  ctx.body = await bytes;
}
