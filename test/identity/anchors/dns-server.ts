// A DNS server on loopback for tests, over UDP and TCP (RFC 1035): answers what a test says, and nothing else.
import { createSocket } from 'node:dgram';
import { type AddressInfo, createServer, type Socket } from 'node:net';

const TYPES: Readonly<Record<number, 'A' | 'CNAME' | 'TXT' | 'AAAA'>> = {
  1: 'A',
  5: 'CNAME',
  16: 'TXT',
  28: 'AAAA',
};
const CODES = { A: 1, CNAME: 5, TXT: 16 } as const;

/** Bytes of the longest answer over UDP; a longer one is asked for again over TCP. */
const LONGEST_DATAGRAM = 512;

/** `value` of a TXT record: its strings. */
export type DnsRecord =
  | { name?: string; type: 'A'; value: string }
  | { name?: string; type: 'CNAME'; value: string }
  | { name?: string; type: 'TXT'; value: readonly (string | Buffer)[] };

/** Records, a response code (2: SERVFAIL, 3: NXDOMAIN, 5: REFUSED), or no answer at all. */
export type DnsAnswer = readonly DnsRecord[] | number | 'silence';
export type DnsQuestion = { name: string; type: string };

export type DnsServer = Awaited<ReturnType<typeof startDnsServer>>;

/** @param answer what a question gets; may be changed later */
export async function startDnsServer(answer: (question: DnsQuestion) => DnsAnswer) {
  const questions: DnsQuestion[] = [];
  const server = { answer };
  const respond = (query: Buffer): Buffer | undefined => {
    const question = readQuestion(query);
    questions.push(question);
    const given = server.answer(question);
    return given === 'silence' ? undefined : writeAnswer(query, question, given);
  };
  const sockets = new Set<Socket>();
  const tcp = createServer((socket) => {
    sockets.add(socket);
    let received = Buffer.alloc(0);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => sockets.delete(socket));
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk]);
      while (received.length >= 2 && received.length >= 2 + received.readUInt16BE(0)) {
        const end = 2 + received.readUInt16BE(0);
        const response = respond(received.subarray(2, end));
        received = received.subarray(end);
        if (response !== undefined) socket.write(Buffer.concat([twoBytes(response.length), response]));
      }
    });
  });
  await new Promise<void>((resolve) => tcp.listen(0, '127.0.0.1', resolve));
  const { port } = tcp.address() as AddressInfo;
  const udp = createSocket('udp4');
  udp.on('message', (query, { port: asker, address }) => {
    const response = respond(query);
    if (response === undefined) return;
    udp.send(response.length > LONGEST_DATAGRAM ? truncate(query, response) : response, asker, address);
  });
  await new Promise<void>((resolve) => udp.bind(port, '127.0.0.1', resolve));
  return Object.assign(server, {
    address: `127.0.0.1:${port}`,
    questions,
    close: async () => {
      udp.close();
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => tcp.close(resolve));
    },
  });
}

function readQuestion(query: Buffer): DnsQuestion {
  const labels: string[] = [];
  const at = questionEnd(query, (label) => labels.push(label));
  return { name: labels.join('.').toLowerCase(), type: TYPES[query.readUInt16BE(at - 4)] ?? 'other' };
}

/** @returns where the question ends */
function questionEnd(query: Buffer, onLabel: (label: string) => void = () => undefined): number {
  let at = 12;
  for (let length = query.readUInt8(at); length > 0; length = query.readUInt8(at)) {
    onLabel(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return at + 5;
}

function header(query: Buffer, { code = 0, answers = 0, flags = 0 }): Buffer {
  const head = Buffer.alloc(12);
  query.copy(head, 0, 0, 2);
  // A response, recursion desired and available.
  head.writeUInt16BE(0x8180 | flags | code, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt16BE(answers, 6);
  return Buffer.concat([head, query.subarray(12, questionEnd(query))]);
}

const truncate = (query: Buffer, response: Buffer) =>
  header(query, { code: response.readUInt16BE(2) & 15, flags: 0x0200 });

function writeAnswer(
  query: Buffer,
  { name, type }: DnsQuestion,
  given: readonly DnsRecord[] | number,
): Buffer {
  if (typeof given === 'number') return header(query, { code: given });
  const records = given.filter((record) => record.type === type || record.type === 'CNAME');
  const parts = records.map((record) => {
    const data = dataOf(record);
    const fields = Buffer.alloc(8);
    fields.writeUInt16BE(CODES[record.type], 0);
    fields.writeUInt16BE(1, 2);
    return Buffer.concat([nameOf(record.name ?? name), fields, twoBytes(data.length), data]);
  });
  return Buffer.concat([header(query, { answers: records.length }), ...parts]);
}

function dataOf(record: DnsRecord): Buffer {
  if (record.type === 'A') return Buffer.from(record.value.split('.').map(Number));
  if (record.type === 'CNAME') return nameOf(record.value);
  const strings: readonly (string | Buffer)[] = record.value;
  return Buffer.concat(strings.map((text) => withLength(Buffer.from(text))));
}

function nameOf(name: string): Buffer {
  return Buffer.concat([...name.split('.').map((label) => withLength(Buffer.from(label))), Buffer.alloc(1)]);
}

const withLength = (bytes: Buffer) => Buffer.concat([Buffer.from([bytes.length]), bytes]);

function twoBytes(number: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(number);
  return bytes;
}
