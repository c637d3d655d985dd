// The header `traceparent`. Source: W3C Trace Context, section 3.2. Pure.

/** Ids in lowercase hex: 16 bytes and 8 bytes. */
export type TraceContext = { readonly traceId: string; readonly spanId: string; readonly sampled: boolean };

const FORM = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const SAMPLED = 0x01;

/**
 * Reads a header as somebody sent it.
 * @returns undefined for whatever is not one: then a trace of our own begins
 */
export function parseTraceparent(text: string | undefined): TraceContext | undefined {
  const [, version, traceId = '', spanId = '', flags = '', more] = FORM.exec(text ?? '') ?? [];
  if (version === undefined || version === 'ff') return undefined;
  // Later versions may say more; this one may not.
  if (version === '00' && more !== undefined) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & SAMPLED) !== 0 };
}

/** 55 characters. */
export function formatTraceparent({ traceId, spanId, sampled }: TraceContext): string {
  return `00-${traceId}-${spanId}-${sampled ? '01' : '00'}`;
}
