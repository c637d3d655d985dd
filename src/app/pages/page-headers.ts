// Headers of pages for browsers. Pure.

/** A page loads scripts, styles and data of its own origin only; nothing inline, nothing in a frame. */
export const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

export const PAGE_HEADERS = {
  'content-security-policy': CONTENT_SECURITY_POLICY,
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cache-control': 'no-store',
} as const;

/** For a file whose name changes with its content. */
export const ASSET_HEADERS = { 'cache-control': 'public, max-age=31536000, immutable' } as const;
