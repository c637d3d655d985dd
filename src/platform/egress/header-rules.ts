// Decides which custom headers a subscription may add to its deliveries. Pure.

/** The most custom headers of a subscription, and the most bytes of all names and values together. */
const MAX_CUSTOM_HEADERS = 20;
const MAX_CUSTOM_HEADER_BYTES = 8192;

/** `headers` has lowercase names; `problems` names each refused header. */
type HeadersVerdict =
  | { ok: true; headers: Record<string, string> }
  | { ok: false; problems: { name: string; message: string }[] };

// RFC 9110 §5.6.2 (token) and §5.5 (field values: visible characters, spaces and tabs only inside).
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$/;
const VALUE = /^[\x21-\x7e](?:[\x20-\x7e\t]{0,2046}[\x21-\x7e])?$/;

const FORBIDDEN = new Set([
  // hop by hop and framing (RFC 9110 §7.6.1)
  ...[
    'connection',
    'keep-alive',
    'te',
    'trailer',
    'transfer-encoding',
    'upgrade',
    'expect',
    'http2-settings',
  ],
  // the target and the proxies on the way
  ...['host', 'via', 'forwarded', 'max-forwards', 'date'],
  // negotiation of an answer whose body is not used
  ...['accept-encoding', 'range', 'cookie', 'cookie2', 'set-cookie'],
  'user-agent',
  // the headers of Standard Webhooks
  ...['webhook-id', 'webhook-timestamp', 'webhook-signature'],
]);
const FORBIDDEN_PREFIXES = ['content-', 'x-service-', 'proxy-', 'x-forwarded-', 'sec-', 'if-'];

/**
 * Judges the headers that a subscription adds to each delivery. Refused are headers that frame or route the message
 * (`host`, `connection`, `content-*`, `proxy-*` and similar ones), `user-agent`, cookies, conditions, and `x-service-*`
 * and the three of Standard Webhooks, which the service sets itself. `authorization` is allowed: receivers behind a
 * gateway need it, and it authenticates the sender to that receiver only, since redirects are never followed.
 *
 * @param headers names (any case) to values; a value has 1–2048 visible ASCII characters, spaces and tabs only inside
 */
export function checkCustomHeaders(headers: Readonly<Record<string, string>>): HeadersVerdict {
  const accepted = new Map<string, string>();
  const problems: { name: string; message: string }[] = [];
  let bytes = 0;
  for (const [name, value] of Object.entries(headers)) {
    const lower = name.toLowerCase();
    const message = accepted.has(lower) ? 'is there twice' : refusal(lower, value);
    if (message === undefined) accepted.set(lower, value);
    else problems.push({ name, message });
    bytes += name.length + value.length;
  }
  if (accepted.size > MAX_CUSTOM_HEADERS)
    problems.push({ name: '', message: `must be at most ${MAX_CUSTOM_HEADERS} headers` });
  if (bytes > MAX_CUSTOM_HEADER_BYTES)
    problems.push({ name: '', message: `must be at most ${MAX_CUSTOM_HEADER_BYTES} bytes together` });
  return problems.length > 0 ? { ok: false, problems } : { ok: true, headers: Object.fromEntries(accepted) };
}

function refusal(name: string, value: string): string | undefined {
  if (!NAME.test(name)) return 'is not a header name of 1–64 token characters';
  if (FORBIDDEN.has(name) || FORBIDDEN_PREFIXES.some((prefix) => name.startsWith(prefix)))
    return 'is set by the sender and cannot be chosen';
  if (!VALUE.test(value)) return 'must have a value of 1–2048 visible ASCII characters';
  return undefined;
}
