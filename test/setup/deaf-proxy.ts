// A TCP proxy for Postgres that passes everything on but notifications: a listener behind it hears nothing, and
// sees no fault.
import { createTcpProxy } from './tcp-proxy.ts';

/** The type of a NotificationResponse (PostgreSQL, "Message Formats"). */
const NOTIFICATION = 'A'.charCodeAt(0);

/**
 * @returns `url` through the proxy; `withheld`, how many notifications did not arrive; `close`, which cuts what is left
 */
export async function createDeafProxy(url: string) {
  let withheld = 0;
  const { url: through, close } = await createTcpProxy(url, (client, upstream) => {
    const read = createMessageReader((type, message) => {
      if (type === NOTIFICATION) withheld += 1;
      else client.write(message);
    });
    client.on('data', (chunk) => upstream.write(chunk));
    upstream.on('data', read);
  });
  return { url: through, withheld: () => withheld, close };
}

/** Cuts a server's stream into messages: a type, then a length that counts itself. */
export function createMessageReader(onMessage: (type: number, message: Buffer) => void) {
  let rest = Buffer.alloc(0);
  return (chunk: Buffer): void => {
    rest = Buffer.concat([rest, chunk]);
    while (rest.length >= 5) {
      const end = 1 + rest.readUInt32BE(1);
      if (rest.length < end) return;
      onMessage(rest[0] ?? 0, rest.subarray(0, end));
      rest = rest.subarray(end);
    }
  };
}
