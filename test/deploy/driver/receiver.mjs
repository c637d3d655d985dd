// The receiver of the deployment driver, in a container beside the stack: answers each delivery with 204, and says on
// GET /arrived?from=n when those after the first n came.
import { createServer } from 'node:http';

const arrived = [];
createServer(async (request, response) => {
  const at = Date.now();
  const url = new URL(request.url, 'http://receiver');
  if (url.pathname === '/arrived')
    return response.end(JSON.stringify(arrived.slice(Number(url.searchParams.get('from') ?? 0))));
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) text += chunk;
  arrived.push({ n: JSON.parse(text).data.n, at });
  return response.writeHead(204).end();
}).listen(9000);
