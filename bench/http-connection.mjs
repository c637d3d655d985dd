// The least HTTP/1.1 client that can measure a server: one connection, one request at a time, answers with a
// content-length.
import { connect } from 'node:net';

/** @returns `post`, which resolves to status, body and the nonce for the next proof, and `close` */
export function openConnection(port) {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  let waiting;
  let buffered = '';
  socket.setEncoding('latin1');
  socket.on('data', (chunk) => {
    buffered += chunk;
    const head = buffered.indexOf('\r\n\r\n');
    if (head === -1) return;
    const length = Number(/\r\ncontent-length: (\d+)/i.exec(buffered.slice(0, head))?.[1] ?? 0);
    if (buffered.length < head + 4 + length) return;
    const answer = {
      nonce: /\r\ndpop-nonce: (\S+)/i.exec(buffered.slice(0, head))?.[1],
      status: Number(buffered.slice(9, 12)),
      body: buffered.slice(head + 4, head + 4 + length),
    };
    buffered = '';
    const { resolve } = waiting;
    waiting = undefined;
    resolve(answer);
  });
  const fail = (error) => waiting?.reject(error ?? new Error('The server closed the connection.'));
  socket.on('error', fail);
  socket.on('close', () => fail());
  const post = ({ path, headers, body }) =>
    new Promise((resolve, reject) => {
      waiting = { resolve, reject };
      const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
      socket.write(
        `POST ${path} HTTP/1.1\r\nhost: localhost\r\n${lines.join('')}content-length: ${body.length}\r\n\r\n${body}`,
      );
    });
  return new Promise((resolve, reject) => {
    waiting = { reject };
    socket.once('connect', () => resolve({ post, close: () => socket.destroy() }));
  });
}
