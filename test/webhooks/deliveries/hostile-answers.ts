// What hostile receivers do with a request, as bytes on a bare socket, and how the attempt must be recorded. No answer
// here may cost more than one attempt, nor reach anything beside it.
import type { Socket } from 'node:net';
import { gzipSync } from 'node:zlib';

/** How an attempt ends: its status and its error, either null; `excerpt` and `retryAfter` where they matter. */
export type Recorded = {
  status: number | null;
  error: string | RegExp | null;
  excerpt?: string | RegExp | null;
  retryAfter?: number | null;
};

/** `answer` is called when the first bytes of the request are there, or, with `atOnce`, when the connection is. */
export type HostileAnswer = {
  name: string;
  answer: (socket: Socket) => void;
  recorded: Recorded;
  atOnce?: boolean;
};

const DELIVERED: Recorded = { status: 200, error: null };
const TIMED_OUT: Recorded = { status: null, error: 'timeout:response' };
const RESET: Recorded = { status: null, error: /^reset:/, excerpt: null };
const PROTOCOL: Recorded = { status: null, error: /^protocol:/, excerpt: null };
const TOO_LARGE: Recorded = { status: null, error: 'too_large:UND_ERR_HEADERS_OVERFLOW' };

const BOMB = gzipSync(Buffer.alloc(64 * 1024 * 1024));

const OK = 'HTTP/1.1 200 OK\r\n';
const CHUNKED = `${OK}Transfer-Encoding: chunked\r\n\r\n`;
const LATER = 'HTTP/1.1 503 Service Unavailable\r\n';

function repeat(socket: Socket, everyMs: number, bytes: string): void {
  const timer = setInterval(() => socket.write(bytes), everyMs);
  socket.on('close', () => clearInterval(timer));
}

/** Writes as fast as it is read, for ever. */
function flood(socket: Socket, bytes: string): void {
  const more = () => {
    while (!socket.destroyed && socket.write(bytes));
  };
  socket.on('drain', more);
  more();
}

const writes = (bytes: string | Buffer) => (socket: Socket) => void socket.write(bytes);
const drips = (head: string, bytes: string) => (socket: Socket) => {
  socket.write(head);
  repeat(socket, 30, bytes);
};
const floods = (head: string, bytes: string) => (socket: Socket) => {
  socket.write(head);
  flood(socket, bytes);
};
/** Resets the connection once the other side has had time to read what was written. */
const resetsAfter = (bytes: string) => (socket: Socket) =>
  void socket.write(bytes, () => setTimeout(() => socket.resetAndDestroy(), 100));

const bodies: HostileAnswer[] = [
  {
    name: 'a chunked body without end',
    answer: floods(CHUNKED, `4000\r\n${'x'.repeat(0x4000)}\r\n`),
    recorded: DELIVERED,
  },
  {
    name: 'a body of HTTP/1.0 without end',
    answer: floods('HTTP/1.0 200 OK\r\n\r\n', 'x'.repeat(65_536)),
    recorded: DELIVERED,
  },
  {
    name: 'a failure with a body without end',
    answer: floods('HTTP/1.1 500 No\r\n\r\n', 'x'.repeat(65_536)),
    recorded: { status: 500, error: 'http:500', excerpt: 'x'.repeat(1024) },
  },
  {
    name: 'a body that drips',
    answer: drips(`${OK}Content-Length: 100000\r\n\r\n`, 'x'),
    recorded: DELIVERED,
  },
  {
    name: 'a failure whose body drips',
    answer: drips('HTTP/1.1 502 No\r\nContent-Length: 100000\r\n\r\n', 'x'),
    recorded: { status: 502, error: 'http:502', excerpt: /^x+$/ },
  },
  {
    name: 'a body longer than anything',
    answer: writes(`${OK}Content-Length: 9007199254740991\r\n\r\nabc`),
    recorded: { ...DELIVERED, excerpt: 'abc' },
  },
  {
    name: 'a gzip bomb',
    answer: (socket) => {
      socket.write(`${OK}Content-Encoding: gzip\r\nContent-Length: ${BOMB.length}\r\n\r\n`);
      socket.end(BOMB);
    },
    recorded: { ...DELIVERED, excerpt: /^[^\0]{1,1024}$/ },
  },
  {
    name: 'a 200 whose body breaks off',
    answer: resetsAfter(`${OK}Content-Length: 1000\r\n\r\nabc`),
    recorded: { ...DELIVERED, excerpt: 'abc' },
  },
  {
    name: 'a 200 whose chunks are none',
    answer: writes(`${CHUNKED}3\r\nabc\r\nnothing\r\n`),
    recorded: { ...DELIVERED, excerpt: 'abc' },
  },
  {
    name: 'a chunk longer than any number',
    answer: writes(`${CHUNKED}FFFFFFFFFFFFFFFFFF\r\nabc`),
    recorded: DELIVERED,
  },
  {
    name: 'a chunk extension without end',
    answer: drips(`${CHUNKED}1;a=`, 'x'.repeat(1000)),
    recorded: DELIVERED,
  },
  {
    name: 'trailers without end',
    answer: floods(`${CHUNKED}0\r\n`, `X-Trailer: ${'x'.repeat(1000)}\r\n`),
    recorded: DELIVERED,
  },
  {
    name: 'a 204 with a body',
    answer: writes(`HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello`),
    recorded: { status: 204, error: null },
  },
  {
    name: 'NUL, control characters and no UTF-8 in its body',
    answer: writes(
      Buffer.concat([
        Buffer.from('HTTP/1.1 500 No\r\nContent-Length: 14\r\n\r\n'),
        Buffer.from([0x61, 0, 0x62, 0x1b, 0xff, 0xfe, 0xed, 0xa0, 0x80, 0xc3, 0x28, 0xe2, 0x80, 0xae]),
      ]),
    ),
    recorded: { status: 500, error: 'http:500', excerpt: 'ab\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd(' },
  },
];

const heads: HostileAnswer[] = [
  { name: 'no answer', answer: () => undefined, recorded: TIMED_OUT },
  { name: 'no reading', answer: (socket) => void socket.pause(), atOnce: true, recorded: TIMED_OUT },
  { name: 'headers that drip', answer: drips(OK, 'X-Drip: 1\r\n'), recorded: TIMED_OUT },
  { name: 'a status line that drips', answer: drips('HTTP/1.1 200 ', 'O'), recorded: TIMED_OUT },
  { name: 'many headers', answer: writes(`${OK}${'X: y\r\n'.repeat(40_000)}\r\n`), recorded: TOO_LARGE },
  {
    name: 'long headers',
    answer: writes(`${OK}${`X-Flood: ${'x'.repeat(1000)}\r\n`.repeat(80)}\r\n`),
    recorded: TOO_LARGE,
  },
  {
    name: 'headers without end',
    answer: floods(OK, `X-Flood: ${'x'.repeat(1000)}\r\n`),
    recorded: TOO_LARGE,
  },
  { name: 'one header without end', answer: floods(`${OK}X-Long: `, 'x'.repeat(4096)), recorded: TOO_LARGE },
  { name: 'one header name without end', answer: floods(OK, 'x'.repeat(4096)), recorded: TOO_LARGE },
  {
    name: 'informational answers without end',
    answer: floods('', 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'),
    recorded: { status: null, error: 'protocol:TOO_MANY_INFORMATIONAL' },
  },
  {
    name: 'a 100 that nobody asked for',
    answer: writes('HTTP/1.1 100 Continue\r\n\r\n'),
    recorded: TIMED_OUT,
  },
  {
    name: 'a 100 that nobody asked for, before a 200',
    answer: writes(`HTTP/1.1 100 Continue\r\n\r\n${OK}Content-Length: 0\r\n\r\n`),
    recorded: DELIVERED,
  },
  {
    name: 'answers 100 without end',
    answer: floods('', 'HTTP/1.1 100 Continue\r\n\r\n'),
    recorded: { status: null, error: 'protocol:TOO_MANY_INFORMATIONAL' },
  },
  {
    name: 'an upgrade that nobody asked for',
    answer: writes('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n'),
    recorded: { status: null, error: 'protocol:BAD_RESPONSE' },
  },
  { name: 'an end instead of an answer', answer: (socket) => void socket.end(), recorded: RESET },
  { name: 'an end before the request', answer: (socket) => void socket.end(), atOnce: true, recorded: RESET },
  {
    name: 'a reset instead of an answer',
    answer: (socket) => void socket.resetAndDestroy(),
    recorded: RESET,
  },
  { name: 'a reset within the headers', answer: resetsAfter(`${OK}X-Half: `), recorded: RESET },
  {
    name: 'an end within the headers',
    answer: (socket) => void socket.end(`${OK}X-Half: `),
    recorded: { status: null, error: /^(reset|protocol):/ },
  },
  { name: 'HTTP/0.9', answer: (socket) => void socket.end('<html>hello</html>'), recorded: PROTOCOL },
  { name: 'another protocol', answer: writes('SSH-2.0-OpenSSH_9.0\r\n'), recorded: PROTOCOL },
  { name: 'an HTTP/2 preface', answer: writes('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), recorded: PROTOCOL },
  { name: 'NUL instead of an answer', answer: writes(Buffer.alloc(4096)), recorded: PROTOCOL },
  { name: 'NUL within a header', answer: writes(`${OK}X: a\0b\r\n\r\n`), recorded: PROTOCOL },
  {
    name: 'a header that is no UTF-8',
    answer: writes(Buffer.from(`${OK}X: \xff\xfe\r\nContent-Length: 0\r\n\r\n`, 'latin1')),
    recorded: DELIVERED,
  },
  {
    name: 'two lengths',
    answer: writes(`${OK}Content-Length: 1\r\nContent-Length: 2\r\n\r\nab`),
    recorded: PROTOCOL,
  },
  { name: 'a negative length', answer: writes(`${OK}Content-Length: -1\r\n\r\n`), recorded: PROTOCOL },
  {
    name: 'a length and chunks',
    answer: writes(`${OK}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\nabc`),
    recorded: PROTOCOL,
  },
  {
    name: 'a broken-off line within a header',
    answer: writes(`${OK}X: a\rSet: b\r\n\r\n`),
    recorded: PROTOCOL,
  },
  ...['99', '9', '-200', '2000', 'abc', '2 00', '0x200'].map(
    (status): HostileAnswer => ({
      name: `the status ${status}`,
      answer: writes(`HTTP/1.1 ${status} Odd\r\nContent-Length: 0\r\n\r\n`),
      recorded: PROTOCOL,
    }),
  ),
  ...[600, 999].map(
    (status): HostileAnswer => ({
      name: `the status ${status}`,
      answer: writes(`HTTP/1.1 ${status} Odd\r\nContent-Length: 0\r\n\r\n`),
      recorded: { status, error: `http:${status}` },
    }),
  ),
];

// Those that count are tried by the times of the attempts that follow; here they must only do no harm.
const retryAfters: HostileAnswer[] = (
  [
    ['0x10', null],
    ['inf', null],
    ['Infinity', null],
    ['-5', null],
    ['1e9', null],
    ['5.5', null],
    ['2027', 2027],
    ['999999999999999999999999999999', 2_147_483_647],
    ['Sun, 06 Nov 1994 08:49:37 GMT', 0],
    ['Sunday, 06-Nov-94 08:49:37 GMT', 0],
    ['Sun Nov  6 08:49:37 1994', 0],
    ['Fri, 31 Dec 9999 23:59:59 GMT', 2_147_483_647],
    ['2030-01-01T00:00:00Z', null],
    ['5\r\nRetry-After: 6', null],
    ['2027\r\nRetry-After: 2027', 2027],
    ['x'.repeat(8000), null],
  ] as const
).map(([value, retryAfter]) => ({
  name: `Retry-After: ${value.slice(0, 40).replace('\r\n', ' and ')}`,
  answer: writes(`${LATER}Retry-After: ${value}\r\nContent-Length: 0\r\n\r\n`),
  recorded: { status: 503, error: 'http:503', retryAfter },
}));

/** All of them. @param inside where redirects lead to */
export const hostileAnswers = (inside: string): HostileAnswer[] => [
  ...bodies,
  ...heads,
  ...retryAfters,
  ...[301, 302, 303, 307, 308].map(
    (status): HostileAnswer => ({
      name: `a redirect ${status} inside`,
      answer: writes(`HTTP/1.1 ${status} Elsewhere\r\nLocation: ${inside}\r\nContent-Length: 0\r\n\r\n`),
      recorded: { status, error: `http:${status}` },
    }),
  ),
];
